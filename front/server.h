// SPDX-License-Identifier: Apache-2.0
/*
 * Serves clients: turns requests on connections into messages to the broker, and its answers into
 * responses. One thread, which only waits in server_run().
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
/* Connections (three descriptors with TLS), an answer or a body for each, and a few of our own. */
#define SERVER_FDS_MAX 4096
#define SERVER_HEADERS_MAX 16384 /* with the request line */

struct client;

struct server {
	struct MHD_Daemon *daemon;
	struct channel channel;
	int epoll; /* the channel, the daemon, streams, and clients that wait for an answer */
	struct client **by_fd; /* SERVER_FDS_MAX */
	size_t n, max;	       /* clients */
	size_t bodies;	       /* being read */
	uint64_t unsent;       /* bytes of answers that have not been sent completely */
	uint64_t last_id, swept_ms;
	uint64_t end_ms; /* after WIRE_END: the deadline; 0: none */
	bool ended;	 /* the broker has exited */
	bool broken;	 /* the broker violated the protocol */
	bool ready;	 /* WIRE_READY was sent */
	const char *const *hosts;
	size_t n_hosts;

	unsigned int words; /* 1u << enum wire_words for each enabled dialect */
	bool at_root;	    /* their paths are allowed without /pid/PID */

	bool tls; /* the broker sends credentials before connections */
	struct streams streams;
	struct credentials *credentials; /* of new connections */
};

/* Open all that will be needed. Borrows `hosts`. False with errno. */
bool server_open(struct server *server, int sock, const char *const *hosts, size_t n_hosts,
		 bool tls);

/* Serve until the broker ends it (true) or violates the protocol (false). */
bool server_run(struct server *server);

#endif
