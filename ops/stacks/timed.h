// SPDX-License-Identifier: Apache-2.0
/* Private to ops/: probing a process for a while, within a limit of overhead. */
#ifndef OPS_STACKS_TIMED_H
#define OPS_STACKS_TIMED_H

#include "ops/target/session.h"

#include <stdbool.h>
#include <stdint.h>

#define TIMED_ROUND_MS 50 /* how often the results of the probes are read */

struct timed {
	const struct session *s;
	uint64_t began_ms, duration_ms;
	int wake_fd;		   /* readable: ends a round; set by the caller, or -1 */
	bool early, ended;	   /* by stop_fd; or the process ended, or runs another program */
	unsigned int max_overhead; /* percent of a CPU, and of what the process uses */
	struct {
		uint64_t ms, cpu_ns, overhead_ns;
	} window; /* start of the window in which the overhead is measured */
};

/* Starts now. `max_overhead` 0: 5. */
void timed_begin(struct timed *t, const struct session *s, uint64_t duration_ms,
		 unsigned int max_overhead);

/* Wait for one round at most; *more: is there another one? ERR_FAILED. */
int timed_wait(struct timed *t, bool *more, struct err *err) __must_check;

uint64_t timed_elapsed_ms(const struct timed *t);

/*
 * The probes have taken `overhead_ns` of CPU time since the beginning. ERR_UNSAFE when that was too
 * much in the last seconds: a few moments are not significant, and earlier savings do not count.
 */
int timed_check_overhead(struct timed *t, uint64_t overhead_ns, struct err *err) __must_check;

#define PROBE_NS 800 /* CPU time that a uprobe itself takes, see doc/sites.md */

#endif
