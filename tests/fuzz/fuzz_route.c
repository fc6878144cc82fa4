// SPDX-License-Identifier: Apache-2.0
/*
 * Network input to the HTTP process, as far as our own code reads it: the first byte chooses the
 * method; lines follow: address, Accept, Host, Origin, and a body.
 */
#include "front/addresses.h"
#include "front/origin.h"
#include "front/route.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LINES 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is sent to the broker is valid, and what is sent back is text. */
static void check_route(const struct route *r)
{
	struct wire_to_broker m = { .version = WIRE_VERSION,
				    .kind = WIRE_ASK,
				    .op = r->op,
				    .flags = r->flags,
				    .format = r->format,
				    .pid = r->pid,
				    .start_time = r->start_time,
				    .lg_sample = r->lg_sample,
				    .seconds = r->seconds,
				    .duration_ms = r->duration_ms,
				    .words = r->words,
				    .run = r->run,
				    .base = r->base,
				    .since = r->since };

	if (r->status == 200) {
		if (r->own == ROUTE_ASKS && !wire_is_valid(&m, r->takes_body))
			abort();
		return;
	}
	if (r->status < 400 || r->status > 499 || !r->text[0])
		abort();
	if ((r->status == 405) != (r->allow[0] != '\0'))
		abort();
	for (const char *at = r->text; *at; at++)
		if (!isprint((unsigned char)*at))
			abort();
}

static void check_addresses(const char *text)
{
	struct addresses a = ADDRESSES_INIT;
	size_t len = strlen(text);

	if (!addresses_add(&a, text, len / 2) &&
	    !addresses_add(&a, text + len / 2, len - len / 2) && !addresses_end(&a) &&
	    (a.n > WIRE_ADDRESSES_MAX || (a.n > 0) != (a.fd >= 0)))
		abort();
	addresses_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const methods[] = { "GET", "HEAD", "POST", "OPTIONS" };
	static const char *const hosts[] = { "node7" };
	char *text = malloc(size + 1), *lines[LINES], *at = text;
	struct route_request request;
	struct origin origin = { 0 };
	struct route route;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	origin.method = request.method = methods[size ? *at++ & 3 : 0];
	for (int i = 0; i < LINES; i++) {
		lines[i] = at;
		at += strcspn(at, "\n");
		if (*at)
			*at++ = '\0';
	}
	request.words = ~0u;
	request.at_root = size & 1;
	request.uri = lines[0];
	request.accept = lines[1];
	memset(&route, 0xff, sizeof(route));
	route_find(&request, &route);
	check_route(&route);
	origin.host = lines[2];
	origin.origin = lines[3];
	/* An origin that does not end with the host is foreign. */
	if (origin_judge(WIRE_TCP, &origin, hosts, 1) == ORIGIN_GOOD &&
	    (strlen(lines[3]) < strlen(lines[2]) ||
	     strcasecmp(lines[3] + strlen(lines[3]) - strlen(lines[2]), lines[2]) != 0))
		abort();
	check_addresses(lines[4]);
	free(text);
	return 0;
}
