// SPDX-License-Identifier: Apache-2.0
/* What a request asks for: from its text to numbers, without any memory but the caller's. */
#ifndef FRONT_ROUTE_H
#define FRONT_ROUTE_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROUTE_PID_MAX 4194304	       /* the kernel's own limit (PID_MAX_LIMIT) */
#define ROUTE_RUN_MAX 9999999999999999 /* what has more digits is no run's number */
#define ROUTE_DURATION_MS 30000	       /* of a run, where it does not say */
#define ROUTE_MESOS_MS 300000	       /* of a run in words of Mesos */
#define ROUTE_WAIT_S 30		       /* for an event */
#define ROUTE_URI_MAX 2048	       /* with the query */

/* How its errors are written. */
enum route_style {
	ROUTE_PLAIN,
	ROUTE_JSON,
	ROUTE_PPROF, /* as Go's net/http/pprof does: text, and marked as its own */
};

/* What the front answers by itself. */
enum route_own {
	ROUTE_ASKS,
	ROUTE_HEALTH,
	ROUTE_INDEX,
	ROUTE_PAGE, /* the index for who wants HTML rather than text */
	ROUTE_PPROF_INDEX,
	ROUTE_SYMBOL_COUNT,
};

struct route_request {
	const char *method;
	const char *uri;    /* as it came: the path, and the query behind a '?' */
	const char *accept; /* NULL: anything */
	unsigned int words; /* 1u << enum wire_words of those that are known besides our own */
	bool at_root;	    /* and for the process that is meant without /pid/PID */
};

struct route {
	unsigned int status; /* of HTTP; 200, or why not, and then `text` and `style` count alone */
	enum route_style style;
	enum route_own own;
	enum wire_op op; /* for ROUTE_ASKS, from here on */
	enum wire_format format;
	enum wire_words words;
	uint32_t flags;
	int32_t pid; /* 0: none */
	int32_t lg_sample;
	uint32_t seconds, duration_ms;
	uint64_t run, base, since;
	uint64_t start_time; /* 0: any */
	bool attached;	     /* it is a file to be kept */
	bool takes_body;     /* addresses, for SYMBOLS */
	char allow[24];	     /* the methods there are, for 405 */
	char text[192];	     /* printable ASCII */
};

/* Always sets all of *route. */
void route_find(const struct route_request *request, struct route *route);

/* The i-th method, path and purpose there is, a line for people; false behind the last. */
bool route_line(size_t i, char *buf, size_t size);

/* Does this Accept prefer the format of OpenMetrics to that of Prometheus? */
bool route_prefers_openmetrics(const char *accept);

/* Does it prefer HTML to plain text, as a browser's does that was sent to an address? */
bool route_prefers_html(const char *accept);

#endif
