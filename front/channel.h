// SPDX-License-Identifier: Apache-2.0
/* The front's end of the socket to the broker: it never waits. */
#ifndef FRONT_CHANNEL_H
#define FRONT_CHANNEL_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * What waits to be sent. Of questions only so many are taken; the rest is for what must not be
 * lost: each connection has one cancellation and one end, and the broker waits for the end.
 */
#define CHANNEL_SIZE 4096
#define CHANNEL_ASKS_MAX 256

struct channel_entry {
	struct wire_to_broker message;
	int fd; /* it goes along, and is the channel's; or -1 */
};

struct channel {
	int sock;
	struct channel_entry *queue; /* a ring of CHANNEL_SIZE; the caller's */
	size_t first, n;
};

/*
 * Send, now or later. The channel has `fd` from now on, whatever it returns. False: too much waits,
 * or, where nothing waits, the broker has ended.
 */
bool channel_send(struct channel *c, const struct wire_to_broker *message, int fd);

/* Send what waits as far as there is room; false: the broker has ended. */
bool channel_flush(struct channel *c);

#endif
