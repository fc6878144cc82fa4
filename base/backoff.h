// SPDX-License-Identifier: Apache-2.0
/* Exponential backoff: each retry waits twice as long, up to a limit. */
#ifndef BASE_BACKOFF_H
#define BASE_BACKOFF_H

#include <stdint.h>

struct backoff {
	unsigned int failures; /* in a row */
	uint64_t at_ms;	       /* the next attempt, of now_ms(); 0: at once */
};

/* For failures that are usually short: one second to five minutes. */
#define BACKOFF_MIN_MS 1000
#define BACKOFF_MAX_MS 300000

/* Count a failure; after the first one, the wait is `min_ms`. */
void backoff_fail(struct backoff *b, uint64_t min_ms, uint64_t max_ms, uint64_t now_ms);

/* After a success: the next failure counts as the first. */
void backoff_reset(struct backoff *b);

#endif
