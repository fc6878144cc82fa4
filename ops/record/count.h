// SPDX-License-Identifier: Apache-2.0
/* What is allocated while a recording goes on: stats.allocated, where jemalloc has statistics. */
#ifndef OPS_RECORD_COUNT_H
#define OPS_RECORD_COUNT_H

#include "ops/session.h"

#include <stdbool.h>
#include <stdint.h>

#define RECORD_COUNT_CALLS 2
#define RECORD_COUNT_EVERY_MS 5000

struct record_count {
	uint64_t read;	      /* private: by the calls of the last run */
	uint64_t first, last; /* bytes; 0: not known */
	unsigned int n;	      /* how often it was counted */
	uint64_t next_ms;     /* of now_ms(): when somebody who watches is told the next one */
	bool gave_up;
};

/* Calls to make in front of others, which cost no stop of their own there. */
void record_count_calls(struct record_count *c, struct call calls[RECORD_COUNT_CALLS]);
/* What they said. */
void record_count_take(struct record_count *c, const struct call calls[RECORD_COUNT_CALLS]);

/*
 * Count in a session of its own, which the caller closes: somebody watches how much is allocated,
 * which a thread of the target must be stopped to tell. A target that cannot be asked at once,
 * such as one that is overloaded, is left alone: record_count_due() is false from then on.
 */
void record_count_ask(struct record_count *c, struct session *s, pid_t pid,
		      const struct ops_options *options);
bool record_count_due(const struct record_count *c);

#endif
