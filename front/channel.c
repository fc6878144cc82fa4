// SPDX-License-Identifier: Apache-2.0
#include "front/channel.h"

#include "base/cleanup.h"

#include <errno.h>

bool channel_flush(struct channel *c)
{
	while (c->n) {
		struct channel_entry *e = &c->queue[c->first];

		if (wire_send(c->sock, &e->message, sizeof(e->message), e->fd))
			return errno == EAGAIN;
		cleanup_close(&e->fd);
		c->first = (c->first + 1) % CHANNEL_SIZE;
		c->n--;
	}
	return true;
}

bool channel_send(struct channel *c, const struct wire_to_broker *message, int fd)
{
	size_t max = message->kind == WIRE_ASK ? CHANNEL_ASKS_MAX : CHANNEL_SIZE;

	if (c->n >= max) {
		cleanup_close(&fd);
		return false;
	}
	c->queue[(c->first + c->n) % CHANNEL_SIZE] =
		(struct channel_entry){ .message = *message, .fd = fd };
	c->n++;
	return channel_flush(c);
}
