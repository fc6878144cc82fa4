// SPDX-License-Identifier: Apache-2.0
/*
 * TLS between clients and the HTTP daemon, which sees one end of a pair of sockets: what a client
 * sends comes out of it in the clear, and the other way round. One turn of the server's loop.
 *
 * The daemon could do it itself, but while a handshake waits for its client, a daemon with epoll(7)
 * says that there is something to do (libmicrohttpd 0.9.75 and 1.0.1): one byte of a client's would
 * keep a processor busy.
 */
#ifndef FRONT_STREAMS_H
#define FRONT_STREAMS_H

#include "front/credentials.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream;

struct streams {
	int epoll;	   /* readable: there is something to do */
	struct stream **v; /* `room` */
	size_t n, room;
	uint64_t swept_ms;
	gnutls_priority_t priorities;

	/* A stream has ended whose other end was closed before: see streams_leave(). */
	void (*ended)(void *ctx, uint64_t number);
	void *ctx;
};

/* Opens all that will be needed for `room` at once. False with errno. */
bool streams_open(struct streams *s, size_t room);

/*
 * Begin one with the client at `net`, which is the stream's from now on; `number` is the caller's
 * name for it. What the daemon gets, or -1: then `net` is closed.
 */
int streams_add(struct streams *s, uint64_t number, int net, struct credentials *credentials);

/* Has it shown a certificate that counts now? Of whom: see credentials_vouch(). */
bool streams_vouch(const struct streams *s, uint64_t number, char subject[WIRE_SUBJECT_SIZE]);

/* The daemon has closed its end. True: something is on its way yet, and ended() will be called. */
bool streams_leave(struct streams *s, uint64_t number);

/* What can be done now, and the end of those whose time is over. */
void streams_run(struct streams *s, uint64_t now_ms);

#endif
