// SPDX-License-Identifier: Apache-2.0
/* When to try again what failed: each time twice as late, up to a limit. */
#ifndef BASE_BACKOFF_H
#define BASE_BACKOFF_H

#include <stdint.h>

struct backoff {
	unsigned int failures; /* in a row */
	uint64_t at_ms;	       /* the next attempt, of now_ms(); 0: at once */
};

/* What seldom fails for long: a second to five minutes. */
#define BACKOFF_MIN_MS 1000
#define BACKOFF_MAX_MS 300000

/* It failed. The first time the wait is `min_ms`. */
void backoff_fail(struct backoff *b, uint64_t min_ms, uint64_t max_ms, uint64_t now_ms);

/* It succeeded: the next failure is the first. */
void backoff_reset(struct backoff *b);

#endif
