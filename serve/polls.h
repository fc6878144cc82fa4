// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: requests for events, which the broker answers without a subprocess. */
#ifndef SERVE_POLLS_H
#define SERVE_POLLS_H

#include "serve/broker.h"

/* WIRE_EVENTS; the role of `peer` has been checked. */
int polls_take(struct broker *b, const struct wire_to_broker *m, const struct serve_peer *peer,
	       struct err *err) __must_check;

/* Answer those that are due, until the socket to the front is full. */
int polls_answer(struct broker *b, struct err *err) __must_check;

/* Answer all: the service is ending. */
void polls_end(struct broker *b);

/* Forget all: the front has exited, and their connections with it. */
void polls_drop(struct broker *b);

#endif
