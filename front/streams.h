// SPDX-License-Identifier: Apache-2.0
/*
 * TLS between clients and the HTTP daemon. The daemon gets one end of a socket pair, with the
 * decrypted data; this is part of the server's loop.
 *
 * The daemon has TLS of its own, but with epoll(7) it reports work to do while a handshake waits
 * for its client (libmicrohttpd 0.9.75 and 1.0.1): a client could keep a processor busy by one
 * byte.
 */
#ifndef FRONT_STREAMS_H
#define FRONT_STREAMS_H

#include "front/credentials.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream;

struct streams {
	int epoll;	   /* readable: call streams_run() */
	struct stream **v; /* `room` */
	size_t n, room;
	uint64_t swept_ms;
	gnutls_priority_t priorities;

	/* A stream has ended after streams_leave() returned true. */
	void (*ended)(void *ctx, uint64_t number);
	void *ctx;
};

/* Open all that is needed for `room` streams. False with errno. */
bool streams_open(struct streams *s, size_t room);

/*
 * Start a stream on `net`, which it takes; the caller identifies it by `number`. Returns the
 * descriptor for the daemon, or -1.
 */
int streams_add(struct streams *s, uint64_t number, int net, struct credentials *credentials);

/* Does the client have a valid certificate? See credentials_vouch(). */
bool streams_vouch(const struct streams *s, uint64_t number, char subject[WIRE_SUBJECT_SIZE]);

/* The daemon has closed its end. True: data is still to be sent, and ended() will be called. */
bool streams_leave(struct streams *s, uint64_t number);

/* Do what is possible without blocking, and end streams past their deadline. */
void streams_run(struct streams *s, uint64_t now_ms);

#endif
