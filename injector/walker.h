// SPDX-License-Identifier: Apache-2.0
/*
 * Private to injector/: the process that walks the frames of a stopped thread.
 *
 * Unwind tables are programs for a small machine, and these are the target's. libunwind runs them,
 * so it does that where nothing can be gained: in a confined process (sandbox/confined.h) that can
 * read the target's memory, and answer. A wrong answer harms no one but the target it is about. The
 * controller starts it, and the tracers of a run ask it one after the other.
 */
#ifndef INJECTOR_WALKER_H
#define INJECTOR_WALKER_H

#include "injector/tracer.h"

#define WALKED_MAX (4u << 20) /* more stack in use than this is not worth the pause */

/* In the controller. Nothing is done where there is one. */
int walker_start(struct injector *inj, struct err *err) __must_check;
/* One that is not idle may hang. */
void walker_end(struct injector *inj, bool idle);

/*
 * In the tracer. 0: the whole stack of the stopped thread is known, and no frame is in code that
 * holds a lock. `from` to `from` + `len`, at most WALKED_MAX, is what of its stack is in use.
 * -1: ERR_UNSAFE.
 */
int walker_check(struct tracer *t, const struct arch_regs *regs, uint64_t from, size_t len,
		 struct err *err) __must_check;

#endif
