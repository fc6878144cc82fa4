// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: the feeds of the broker, and how it handles their messages. */
#ifndef SERVE_FEEDS_H
#define SERVE_FEEDS_H

#include "serve/broker.h"

#include <poll.h>

#define FEED_FDS 2 /* per feed */

/* Open those of the request. */
int feeds_open(struct broker *b, struct err *err) __must_check;
void feeds_close(struct broker *b);

/* Start those that are due, and report lost messages. */
void feeds_go_on(struct broker *b);

uint64_t feeds_next_ms(const struct broker *b);

/* Fill in FEED_FDS for each feed; returns how many. */
size_t feeds_gather(const struct broker *b, struct pollfd *fds);
void feeds_take(struct broker *b, const struct pollfd *fds);

/* Ask them to end; wait for that, for the watch at most until `until_ms`, of now_ms(). */
void feeds_stop(const struct broker *b);
void feeds_end(struct broker *b, uint64_t until_ms);

#endif
