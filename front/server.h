// SPDX-License-Identifier: Apache-2.0
/*
 * Clients: from a connection to a question for the broker, and from its answer to a response. One
 * thread, which waits in server_run() alone.
 */
#ifndef FRONT_SERVER_H
#define FRONT_SERVER_H

#include "front/channel.h"
#include "front/streams.h"

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVER_CLIENTS_MAX 1024
/* Connections (three for one of TLS), an answer or a body for each, and a few of our own. */
#define SERVER_FDS_MAX 4096
#define SERVER_HEADERS_MAX 16384 /* with the request line */

struct client;

struct server {
	struct MHD_Daemon *daemon;
	struct channel channel;
	int epoll; /* the channel, the daemon, streams, and clients that wait for an answer */
	struct client **by_fd; /* SERVER_FDS_MAX */
	size_t n, max;	       /* clients */
	size_t bodies;	       /* that are being read */
	uint64_t unsent;       /* bytes of answers that their clients have not taken */
	uint64_t last_id, swept_ms;
	uint64_t end_ms; /* WIRE_END came: when to end at the latest; 0: not yet */
	bool ended;	 /* the broker has */
	bool broken;	 /* it makes no sense */
	bool ready;	 /* the broker knows that connections may come */
	const char *const *hosts;
	size_t n_hosts;

	unsigned int words; /* 1u << enum wire_words of each that clients may use, */
	bool at_root;	    /* for one process at the root as well */

	bool tls; /* the broker brings credentials before connections */
	struct streams streams;
	struct credentials *credentials; /* of new connections */
};

/* Opens all that will be needed; `hosts` are the caller's. False with errno. */
bool server_open(struct server *server, int sock, const char *const *hosts, size_t n_hosts,
		 bool tls);

/*
 * Tells the broker when connections may come, and serves them until it ends this (true) or what it
 * says makes no sense (false).
 */
bool server_run(struct server *server);

#endif
