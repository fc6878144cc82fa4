// SPDX-License-Identifier: Apache-2.0
/* The front's end of the socket to the broker. Never blocks. */
#ifndef FRONT_CHANNEL_H
#define FRONT_CHANNEL_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Size of the send queue. Only some of it is for requests; the rest is for messages that must not
 * be lost: each connection has one cancellation and one end, and the broker waits for the end.
 */
#define CHANNEL_SIZE 4096
#define CHANNEL_ASKS_MAX 256

struct channel_entry {
	struct wire_to_broker message;
	int fd; /* sent along; owned by the channel; or -1 */
};

struct channel {
	int sock;
	struct channel_entry *queue; /* a ring of CHANNEL_SIZE; allocated by the caller */
	size_t first, n;
};

/*
 * Send or queue a message. Takes `fd` in any case. False: the queue is full, or, if it is empty,
 * the broker has exited.
 */
bool channel_send(struct channel *c, const struct wire_to_broker *message, int fd);

/* Send queued messages until the socket is full. False: the broker has exited. */
bool channel_flush(struct channel *c);

#endif
