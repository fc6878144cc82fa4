// SPDX-License-Identifier: Apache-2.0
/* Private to front/: a connection and the request on it. */
#ifndef FRONT_CLIENT_H
#define FRONT_CLIENT_H

#include "front/addresses.h"
#include "front/route.h"
#include "front/server.h"

enum client_phase {
	CLIENT_IDLE,	/* between requests */
	CLIENT_READING, /* the request line has been read */
	CLIENT_WAITING, /* for the broker; the connection is suspended */
	CLIENT_SENDING,
};

struct client {
	struct server *server;
	struct MHD_Connection *connection;
	uint64_t number; /* of WIRE_CONNECTION */
	int fd;		 /* owned by the daemon */
	enum wire_transport transport;
	enum client_phase phase;
	uint64_t deadline_ms; /* 0: none */

	/* The current request. */
	char uri[ROUTE_URI_MAX + 2];  /* large enough to detect one that is too long */
	const char *uri_at, *uri_end; /* the original, and its end behind the NUL byte */
	struct route route;
	unsigned char token[WIRE_TOKEN_SIZE];
	bool has_token, has_begun;
	bool counted; /* in server->bodies */
	struct addresses addresses;
	enum addresses_result body;
	uint64_t id; /* of the message to the broker; 0: not sent */
	bool answered, gone;
	struct wire_to_front answer;
	int answer_fd;
};

/* Enter a phase, and set its deadline. */
void client_enter(struct client *client, enum client_phase phase);

/* Release the last request. */
void client_reset(struct client *client);

/* Its body is no longer being read: it does not count in server->bodies any more. */
void client_end_body(struct client *client);

/* Send the request to the broker, and suspend the connection. False: the queue is full. */
bool client_ask(struct client *client);

/* The daemon's callbacks (request.c). */
void *request_begin(void *ctx, const char *uri, struct MHD_Connection *connection);
enum MHD_Result request_go_on(void *ctx, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **of);
void request_end(void *ctx, struct MHD_Connection *connection, void **of,
		 enum MHD_RequestTerminationCode how);

#endif
