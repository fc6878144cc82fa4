// SPDX-License-Identifier: Apache-2.0
/* The same short calls in many threads, which are borrowed one after the other. */
#ifndef OPS_TARGET_VISIT_H
#define OPS_TARGET_VISIT_H

#include "ops/ops.h"
#include "ops/target/session.h"

/* What to do in each. thread.prof.active only if opt.prof is known to be true. */
struct visit {
	bool read_active, activate; /* thread.prof.active */
	bool read_bytes;	    /* thread.allocated, thread.deallocated */
	enum tristate init;	    /* prof.thread_active_init: a thread's initial value */
};

/*
 * Fill list->v with the threads of the process, or with those of `only`, and visit them: all of
 * them for a short time each, then those that had no safe moment for a longer time, as long as
 * --timeout lasts and stop_fd does not end it. A thread that cannot be reached is unchanged, and
 * not a failure; threads that end, and jemalloc's own, are left out. No call is made in a thread
 * that never called jemalloc, as that would give it an arena: it has allocated nothing, and begins
 * as prof.thread_active_init says. The caller ends the list with ops_threads_fini() even after a
 * failure.
 */
int visit_threads(struct session *s, const struct visit *visit, const pid_t *only, size_t n_only,
		  struct ops_threads *list, struct err *err) __must_check;

#endif
