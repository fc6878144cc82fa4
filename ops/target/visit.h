// SPDX-License-Identifier: Apache-2.0
/* The same short calls in many threads, each borrowed in its turn. */
#ifndef OPS_TARGET_VISIT_H
#define OPS_TARGET_VISIT_H

#include "ops/ops.h"
#include "ops/target/session.h"

/* What to do in each. thread.prof.active only where opt.prof is known to be true. */
struct visit {
	bool read_active, activate; /* thread.prof.active */
	bool read_bytes;	    /* thread.allocated, thread.deallocated */
	enum tristate init;	    /* prof.thread_active_init: what a thread begins with */
};

/*
 * Fill list->v with the threads of the process, or with those of `only`, and
 * visit them: all of them for a short time each, then those that had no safe
 * moment for a longer one, as long as --timeout lasts and stop_fd does not end
 * it. A thread that cannot be reached is as before, and no failure; one that
 * ends is left out, and so are jemalloc's own. No call is made in one that
 * never called jemalloc, which would get an arena by it: it has allocated
 * nothing, and begins as prof.thread_active_init says. The caller ends the list
 * with ops_threads_fini() also when this fails.
 */
int visit_threads(struct session *s, const struct visit *visit, const pid_t *only, size_t n_only,
		  struct ops_threads *list, struct err *err) __must_check;

#endif
