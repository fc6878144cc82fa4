// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: listening sockets, and the identity of clients. */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include "serve/serve.h"

#include <limits.h>

#define LISTENERS_MAX 8

struct listeners {
	int v[LISTENERS_MAX];
	enum wire_transport transport[LISTENERS_MAX];
	size_t n;
	char path[PATH_MAX];	       /* of the socket we made, to be removed at the end; or "" */
	ino_t inode;		       /* of `path` */
	char where[PATH_MAX + 256];    /* for the message */
	char port[SERVE_ADDRESS_SIZE]; /* the first TCP address, as "127.0.0.1:19477"; or "" */
};

/*
 * Take the sockets that systemd(1) passed, or open the socket and the ports of the request.
 * ERR_BUSY, ERR_FAILED; ERR_USAGE: a port without TLS that other hosts can reach.
 */
int listeners_open(struct listeners *l, const struct serve_request *request, struct err *err)
	__must_check;
void listeners_close(struct listeners *l);

/* Accept a connection and identify the peer. -1 with errno. */
int listener_accept(int listener, enum wire_transport transport, struct serve_peer *peer);

/* Notify systemd(1), as sd_notify(3) does: "READY=1". A no-op without it. */
void listen_notify(const char *state);

#endif
