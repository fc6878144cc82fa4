// SPDX-License-Identifier: Apache-2.0
/* Private to front/: one connection, and the request on it. */
#ifndef FRONT_CLIENT_H
#define FRONT_CLIENT_H

#include "front/addresses.h"
#include "front/route.h"
#include "front/server.h"

enum client_phase {
	CLIENT_IDLE,	/* nothing of a request has been seen */
	CLIENT_READING, /* its first line has */
	CLIENT_WAITING, /* for the broker: the connection is suspended */
	CLIENT_SENDING,
};

struct client {
	struct server *server;
	struct MHD_Connection *connection;
	uint64_t number; /* of WIRE_CONNECTION */
	int fd;		 /* the daemon's */
	enum wire_transport transport;
	enum client_phase phase;
	uint64_t deadline_ms; /* 0: none */

	/* The request, from here on. */
	char uri[ROUTE_URI_MAX + 2];  /* with room to be seen to be too long */
	const char *uri_at, *uri_end; /* where it came in, with its NUL byte */
	struct route route;
	unsigned char token[WIRE_TOKEN_SIZE];
	bool has_token, has_begun;
	bool counted; /* in server->bodies */
	struct addresses addresses;
	enum addresses_result body;
	uint64_t id; /* of the question; 0: none yet */
	bool answered, gone;
	struct wire_to_front answer;
	int answer_fd;
};

/* The next phase, with what time it may take. */
void client_enter(struct client *client, enum client_phase phase);

/* A new request, or none: what the last one held is let go. */
void client_reset(struct client *client);

/* Its body has come in, or will not: another one's may. */
void client_end_body(struct client *client);

/* Put the question to the broker, and wait; false: the broker takes no more. */
bool client_ask(struct client *client);

/* The daemon's callbacks (request.c). */
void *request_begin(void *ctx, const char *uri, struct MHD_Connection *connection);
enum MHD_Result request_go_on(void *ctx, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **of);
void request_end(void *ctx, struct MHD_Connection *connection, void **of,
		 enum MHD_RequestTerminationCode how);

#endif
