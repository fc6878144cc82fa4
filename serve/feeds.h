// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: the feeds of the broker, and what it makes of what they tell. */
#ifndef SERVE_FEEDS_H
#define SERVE_FEEDS_H

#include "serve/broker.h"

#include <poll.h>

#define FEED_FDS 2 /* of each */

/* Those that the request asks for. */
int feeds_open(struct broker *b, struct err *err) __must_check;
void feeds_close(struct broker *b);

/* Start those that are due, and tell what was lost. */
void feeds_go_on(struct broker *b);

uint64_t feeds_next_ms(const struct broker *b);

/* FEED_FDS for each of them; how many. */
size_t feeds_gather(const struct broker *b, struct pollfd *fds);
void feeds_take(struct broker *b, const struct pollfd *fds);

/* Have them end with care; and wait for that, for the watch only until then, of now_ms(). */
void feeds_stop(const struct broker *b);
void feeds_end(struct broker *b, uint64_t until_ms);

#endif
