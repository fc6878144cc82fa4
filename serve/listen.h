// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: where clients connect, and who they are. */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include "serve/serve.h"

#include <limits.h>

#define LISTENERS_MAX 8

struct listeners {
	int v[LISTENERS_MAX];
	enum wire_transport transport[LISTENERS_MAX];
	size_t n;
	char path[PATH_MAX]; /* of the socket that was made, and is removed at the end; or "" */
	ino_t inode;	     /* of that */
	char where[PATH_MAX + 256];    /* for people */
	char port[SERVE_ADDRESS_SIZE]; /* the first of TCP, as "127.0.0.1:19477"; or "" */
};

/*
 * Those that systemd(1) handed over, or the socket and the ports of the request. ERR_BUSY,
 * ERR_FAILED, ERR_USAGE: a port where others than this machine's may connect.
 */
int listeners_open(struct listeners *l, const struct serve_request *request, struct err *err)
	__must_check;
void listeners_close(struct listeners *l);

/* Take a connection, and see who it is. -1 with errno. */
int listener_accept(int listener, enum wire_transport transport, struct serve_peer *peer);

/* Say something to systemd(1), as in sd_notify(3): "READY=1". Nothing is done without it. */
void listen_notify(const char *state);

#endif
