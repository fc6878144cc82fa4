// SPDX-License-Identifier: Apache-2.0
#include "front/client.h"
#include "front/origin.h"
#include "front/reply.h"
#include "front/token.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BODY_MAX 4096			 /* no route needs one */
#define BODY_OF_ADDRESSES (1 << 20)	 /* of SYMBOLS */
#define BODIES_MAX 16			 /* of these at once */
#define UNSENT_MAX ((uint64_t)256 << 20) /* bytes of answers, above which requests are refused */

/* The headers that are used. */
enum { HOST, ORIGIN, REFERER, FETCH_SITE, AUTHORIZATION, LENGTH, ENCODING, ACCEPT, HEADERS };
static const char *const names[HEADERS] = {
	"Host",		 "Origin",	   "Referer",		"Sec-Fetch-Site",
	"Authorization", "Content-Length", "Transfer-Encoding", "Accept",
};

struct headers {
	const char *v[HEADERS];
	bool twice;	/* one that must be unique is not */
	bool malformed; /* any */
};

/* Implementations differ in how they read "Length : 5" (RFC 9112, 5.1). */
static bool is_well_formed(const char *name, const char *value)
{
	for (const char *at = name; *at; at++)
		if (*at <= ' ' || *at > '~' || strchr("\"(),/:;<=>?@[\\]{}", *at))
			return false;
	for (const char *at = value; *at; at++)
		if ((unsigned char)*at < ' ' && *at != '\t')
			return false;
	return *name;
}

static enum MHD_Result take_header(void *ctx, enum MHD_ValueKind kind, const char *name,
				   const char *value)
{
	struct headers *h = ctx;

	(void)kind;
	value = value ? value : "";
	h->malformed = h->malformed || !is_well_formed(name, value);
	for (size_t i = 0; i < HEADERS; i++) {
		if (strcasecmp(name, names[i]) != 0)
			continue;
		h->twice = h->twice || (h->v[i] && i != ACCEPT);
		if (!h->v[i])
			h->v[i] = value;
	}
	return MHD_YES;
}

/* --- what is wrong with a request --- */

struct fault {
	unsigned int status; /* 0: nothing */
	const char *text;
};

static struct fault fault_of_origin(const struct client *client, const char *method,
				    const struct headers *h)
{
	const struct route *route = &client->route;
	const struct wire_to_broker ask = { .op = route->op, .flags = route->flags };
	const struct origin origin = { .method = method,
				       .host = h->v[HOST],
				       .origin = h->v[ORIGIN],
				       .referer = h->v[REFERER],
				       .fetch_site = h->v[FETCH_SITE],
				       .changes = wire_role_needed(&ask) == WIRE_ROLE_CONTROL };
	const struct server *s = client->server;

	switch (origin_judge(client->transport, &origin, s->hosts, s->n_hosts)) {
	case ORIGIN_OTHER_HOST:
		return (struct fault){ 421, "unknown host name; serve --host NAME allows it, if it "
					    "is a name of this host" };
	case ORIGIN_OTHER_SITE:
		return (struct fault){ 403, "another site sent this request" };
	case ORIGIN_BROWSER:
		return (struct fault){ 403, "browsers may not use this socket: Origin and Referer "
					    "are refused" };
	case ORIGIN_GOOD:
		break;
	}
	return (struct fault){ 0 };
}

/* The end of a request must be unambiguous, against request smuggling: only one length. */
static struct fault fault_of_length(const struct client *client, const struct headers *h)
{
	size_t max = client->route.takes_body ? BODY_OF_ADDRESSES : BODY_MAX, n = 0;

	if (h->v[ENCODING])
		return (struct fault){ 411, "a Content-Length is required" };
	if (!h->v[LENGTH])
		return (struct fault){ 0 };
	if (!h->v[LENGTH][0])
		return (struct fault){ 400, "malformed Content-Length" };
	for (const char *at = h->v[LENGTH]; *at; at++) {
		if (*at < '0' || *at > '9')
			return (struct fault){ 400, "malformed Content-Length" };
		n = n <= max ? n * 10 + (size_t)(*at - '0') : n;
	}
	return n > max ? (struct fault){ 413, "the body is too long" } : (struct fault){ 0 };
}

/*
 * Libmicrohttpd splits the request line in place: a NUL byte within a part hides the rest of that
 * part, and the next part begins further on. Pointers that are not into the line prove nothing. (A
 * header with a NUL byte ends there for the library as well, so that both read the same.)
 */
static bool is_cut(const char *end, const char *next)
{
	uintptr_t a = (uintptr_t)end, b = (uintptr_t)next;

	return b > a && b - a < SERVER_HEADERS_MAX;
}

static struct fault find_fault(struct client *client, const char *method, const char *version,
			       const struct headers *h)
{
	const struct route *route = &client->route;
	struct fault fault;

	if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
		return (struct fault){ 505, "only HTTP/1.0 and HTTP/1.1 are supported" };
	if (is_cut(method + strlen(method) + 1, client->uri_at) || is_cut(client->uri_end, version))
		return (struct fault){ 400, "malformed request line" };
	if (h->malformed)
		return (struct fault){ 400, "malformed header" };
	if (h->twice)
		return (struct fault){ 400, "a header that must be unique is repeated" };
	fault = fault_of_origin(client, method, h);
	if (!fault.status)
		fault = fault_of_length(client, h);
	if (fault.status)
		return fault;
	if (route->status != 200)
		return (struct fault){ route->status, route->text };
	client->has_token = h->v[AUTHORIZATION] && token_parse(h->v[AUTHORIZATION], client->token);
	if (h->v[AUTHORIZATION] && !client->has_token)
		return (struct fault){ 401, "a token is 64 hexadecimal digits: Authorization: "
					    "Bearer TOKEN" };
	if (route->takes_body && client->server->bodies >= BODIES_MAX)
		return (struct fault){ 503, "too many requests are being read" };
	if (route->op && client->server->unsent >= UNSENT_MAX)
		return (struct fault){ 503, "clients take too long to read their answers" };
	return (struct fault){ 0 };
}

/* --- life cycle --- */

void *request_begin(void *ctx, const char *uri, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct client *client = info ? info->socket_context : NULL;

	(void)ctx;
	if (!client)
		return NULL;
	client_reset(client);
	client_enter(client, CLIENT_READING);
	snprintf(client->uri, sizeof(client->uri), "%s", uri);
	client->uri_at = uri;
	client->uri_end = uri + strlen(uri) + 1;
	return client;
}

static struct reply_to reply_to(struct client *client)
{
	/* This phase ends when all has been sent: see request_end(). */
	client_enter(client, CLIENT_SENDING);
	return (struct reply_to){ .connection = client->connection,
				  .route = &client->route,
				  .last = client->server->end_ms != 0 };
}

static enum MHD_Result refuse(struct client *client, unsigned int status, const char *text,
			      bool last)
{
	struct reply_to to = reply_to(client);

	to.last = to.last || last;
	return reply_error(&to, status, text);
}

/* All headers have been read. */
static enum MHD_Result begin(struct client *client, const char *method, const char *version)
{
	struct headers h = { 0 };
	struct route_request request = { .method = method,
					 .uri = client->uri,
					 .words = client->server->words,
					 .at_root = client->server->at_root };
	struct fault fault;

	MHD_get_connection_values(client->connection, MHD_HEADER_KIND, take_header, &h);
	request.accept = h.v[ACCEPT];
	route_find(&request, &client->route);
	fault = find_fault(client, method, version, &h);
	/* Close the connection if there is a body: it would be read as the next request. */
	if (fault.status)
		return refuse(client, fault.status, fault.text, h.v[LENGTH] || h.v[ENCODING]);
	client->has_begun = true;
	if (client->route.takes_body) {
		client->counted = true;
		client->server->bodies++;
	}
	return MHD_YES;
}

/* The whole request has been read. */
static enum MHD_Result act(struct client *client)
{
	const struct route *route = &client->route;
	struct reply_to to;

	client_end_body(client);
	if (route->takes_body && !client->body)
		client->body = addresses_end(&client->addresses);
	if (client->body)
		return refuse(client,
			      client->body == ADDRESSES_MALFORMED ? 400
			      : client->body == ADDRESSES_MANY	  ? 413
								  : 503,
			      client->body == ADDRESSES_MALFORMED ? "not of the form 0xA+0xB"
			      : client->body == ADDRESSES_MANY	  ? "too many addresses"
								  : "out of memory",
			      false);
	if (route->takes_body && !client->addresses.n) { /* as Go does */
		to = reply_to(client);
		return reply_text(&to, "num_symbols: 1\n");
	}
	if (route->own) {
		to = reply_to(client);
		return reply_own(&to);
	}
	if (client->server->end_ms || !client_ask(client))
		return refuse(client, 503, "too many requests are waiting", false);
	return MHD_YES;
}

enum MHD_Result request_go_on(void *ctx, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **of)
{
	struct client *client = *of;

	(void)ctx;
	(void)path; /* as parsed by the daemon; we parse client->uri */
	if (!client)
		return MHD_NO;
	client->connection = connection;
	if (client->id) {
		struct reply_to to;
		int fd = client->answer_fd;

		if (client->gone || !client->answered)
			return MHD_NO;
		client->answer_fd = -1;
		to = reply_to(client);
		return reply_answer(&to, &client->answer, fd);
	}
	if (!client->has_begun)
		return begin(client, method, version);
	if (*size) {
		if (client->route.takes_body && !client->body)
			client->body = addresses_add(&client->addresses, data, *size);
		*size = 0;
		return MHD_YES;
	}
	return act(client);
}

void request_end(void *ctx, struct MHD_Connection *connection, void **of,
		 enum MHD_RequestTerminationCode how)
{
	struct client *client = *of;

	(void)ctx;
	(void)connection;
	(void)how;
	*of = NULL;
	if (!client)
		return;
	client_reset(client);
	client_enter(client, CLIENT_IDLE);
}
