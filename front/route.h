// SPDX-License-Identifier: Apache-2.0
/* Parses requests into operations and numbers. Allocates nothing. */
#ifndef FRONT_ROUTE_H
#define FRONT_ROUTE_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROUTE_PID_MAX 4194304	       /* the kernel's own limit (PID_MAX_LIMIT) */
#define ROUTE_RUN_MAX 9999999999999999 /* no run has a number with more digits */
#define ROUTE_DURATION_MS 30000	       /* default for a run */
#define ROUTE_MESOS_MS 300000	       /* default for a run of Mesos */
#define ROUTE_WAIT_S 30		       /* default for events */
#define ROUTE_URI_MAX 2048	       /* with the query */

/* The format of its errors. */
enum route_style {
	ROUTE_PLAIN,
	ROUTE_JSON,
	ROUTE_PPROF, /* as Go's net/http/pprof: text, with a header */
};

/* Requests that the front answers itself. */
enum route_own {
	ROUTE_ASKS,
	ROUTE_HEALTH,
	ROUTE_INDEX,
	ROUTE_PAGE, /* the index for clients that prefer HTML */
	ROUTE_PPROF_INDEX,
	ROUTE_SYMBOL_COUNT,
};

struct route_request {
	const char *method;
	const char *uri;    /* raw: the path, and the query after a '?' */
	const char *accept; /* NULL: anything */
	unsigned int words; /* 1u << enum wire_words for each enabled dialect */
	bool at_root;	    /* their paths are allowed without /pid/PID */
};

struct route {
	unsigned int status; /* of HTTP; unless 200, only `text` and `style` are valid */
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
	bool attached;	     /* the answer is a download */
	bool takes_body;     /* of addresses, for SYMBOLS */
	char allow[24];	     /* allowed methods, for 405 */
	char text[192];	     /* printable ASCII */
};

/* Always sets all of *route. */
void route_find(const struct route_request *request, struct route *route);

/* The i-th line of the index: method, path and purpose. False after the last. */
bool route_line(size_t i, char *buf, size_t size);

/* Does this Accept prefer the format of OpenMetrics to that of Prometheus? */
bool route_prefers_openmetrics(const char *accept);

/* Does it prefer HTML to plain text, as a browser does when it opens a URL? */
bool route_prefers_html(const char *accept);

#endif
