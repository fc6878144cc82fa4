// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: who waits for events, and gets them. No process is needed for that. */
#ifndef SERVE_POLLS_H
#define SERVE_POLLS_H

#include "serve/broker.h"

/* WIRE_EVENTS; the role of `peer` is enough. */
int polls_take(struct broker *b, const struct wire_to_broker *m, const struct serve_peer *peer,
	       struct err *err) __must_check;

/* Those whose time has come, as far as the front takes it. */
int polls_answer(struct broker *b, struct err *err) __must_check;

/* The service ends. */
void polls_end(struct broker *b);

/* The front has ended, and with it who waited. */
void polls_drop(struct broker *b);

#endif
