// SPDX-License-Identifier: Apache-2.0
/*
 * A tracer that gets no processor between choosing a thread and examining it, until the time for
 * finding a safe moment of that thread is over. Only tests/gate/threads.t uses it.
 */
#include "injector/search.h"

#include <time.h>

#define HELD_S 2 /* longer than the last of rounds_ms in ops/target/visit.c */

int __real_rank_one(const struct proc *p, pid_t tid, enum caution caution, struct candidate **out,
		    size_t *n, struct err *err);
int __wrap_rank_one(const struct proc *p, pid_t tid, enum caution caution, struct candidate **out,
		    size_t *n, struct err *err);
int __wrap_rank_one(const struct proc *p, pid_t tid, enum caution caution, struct candidate **out,
		    size_t *n, struct err *err)
{
	const struct timespec held = { .tv_sec = HELD_S };

	nanosleep(&held, NULL);
	return __real_rank_one(p, tid, caution, out, n, err);
}
