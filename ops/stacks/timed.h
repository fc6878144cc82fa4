// SPDX-License-Identifier: Apache-2.0
/* Private to ops/: a process is probed for a while, and not for more than that may cost it. */
#ifndef OPS_STACKS_TIMED_H
#define OPS_STACKS_TIMED_H

#include "ops/target/session.h"

#include <stdbool.h>
#include <stdint.h>

#define TIMED_ROUND_MS 50 /* how often what the probes told is taken */

struct timed {
	const struct session *s;
	uint64_t began_ms, duration_ms;
	int wake_fd;		   /* readable: a round ends; the caller's to set, or -1 */
	bool early, ended;	   /* by stop_fd; or the process has, or runs another program */
	unsigned int max_overhead; /* percent of a CPU, and of what the process uses */
	struct {
		uint64_t ms, cpu_ns, overhead_ns;
	} window; /* where the one began of which the overhead is looked at */
};

/* From now on. `max_overhead` 0: 5. */
void timed_begin(struct timed *t, const struct session *s, uint64_t duration_ms,
		 unsigned int max_overhead);

/* A round, at most; is there to be another one? ERR_FAILED. */
int timed_wait(struct timed *t, bool *more, struct err *err) __must_check;

uint64_t timed_elapsed_ms(const struct timed *t);

/*
 * The probes have taken `overhead_ns` of CPU time since the beginning. ERR_UNSAFE when that was too
 * much in the last seconds: a few moments say nothing, and the time before makes up for nothing.
 */
int timed_check_overhead(struct timed *t, uint64_t overhead_ns, struct err *err) __must_check;

#define PROBE_NS 800 /* of CPU time that a uprobe takes itself, see doc/sites.md */

#endif
