// SPDX-License-Identifier: Apache-2.0
/*
 * Private to injector/: the process that walks the frames of a stopped thread.
 *
 * Unwind tables are bytecode, and these come from the target. So libunwind interprets them in a
 * confined process (sandbox/confined.h) that can only read the target's memory and reply. A wrong
 * reply can harm only the target itself. The controller starts it, and the tracers of a run use it
 * in turn.
 */
#ifndef INJECTOR_WALKER_H
#define INJECTOR_WALKER_H

#include "injector/tracer.h"

#define WALKED_MAX (4u << 20) /* more stack in use than this is not worth the pause */

/* For the controller. Does nothing if one is running. */
int walker_start(struct injector *inj, struct err *err) __must_check;
/* `idle`: it is not working on a request, where it might hang. */
void walker_end(struct injector *inj, bool idle);

/*
 * For the tracer. 0: the whole stack of the stopped thread was walked, and no frame is in code that
 * holds a lock. The used part of the stack is `len` bytes at `from`, at most WALKED_MAX. -1:
 * ERR_UNSAFE.
 */
int walker_check(struct tracer *t, const struct arch_regs *regs, uint64_t from, size_t len,
		 struct err *err) __must_check;

#endif
