// SPDX-License-Identifier: Apache-2.0
/* Conditions on memory that end a recording, or begin one. Pure functions. */
#ifndef OPS_UNTIL_H
#define OPS_UNTIL_H

#include "base/err.h"
#include "process/limit.h"

#include <stdbool.h>
#include <stdint.h>

enum until_of { UNTIL_NEVER, UNTIL_RSS, UNTIL_CGROUP };

/* "rss+500M", "rss>2G", "rss>80%", "+10%/min", which is "growth>10%/min", "cgroup>80%". */
struct until {
	enum until_of of;
	bool growth;  /* since the beginning, or within the last `within_ms`; else the total */
	bool percent; /* `amount` is in % of the value it grows from, or of the limit; else bytes */
	double amount;	    /* more than 0 */
	uint64_t within_ms; /* 0: since the beginning */
};

/* ERR_USAGE, with its fix, for any other text. */
int until_parse(const char *text, struct until *out, struct err *err) __must_check;

/* Recent values: the minimum of each part of `within_ms`. */
#define UNTIL_PARTS 64
struct until_seen {
	bool begun;
	uint64_t first; /* bytes */
	struct {
		uint64_t part, least; /* number of the part, from 1; 0: nothing seen */
	} v[UNTIL_PARTS];
};

/*
 * How many bytes reach it, at `now_ms` of a monotonic clock, when the current value is `bytes` (for
 * UNTIL_RSS resident, for UNTIL_CGROUP used), of `limit`? INFINITY: none do, as there is no limit,
 * or nothing to grow from. Called repeatedly; `seen` is zeroed first.
 */
double until_threshold(const struct until *until, struct until_seen *seen, uint64_t now_ms,
		       uint64_t bytes, uint64_t limit);

/* Is it reached? An alternative to until_threshold(). */
bool until_reached(const struct until *until, struct until_seen *seen, uint64_t now_ms,
		   uint64_t bytes, uint64_t limit);

#endif
