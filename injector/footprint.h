// SPDX-License-Identifier: Apache-2.0
/*
 * Private to injector/: what an injection adds to a target, and whether there is room for it.
 *
 * A thread that comes to jemalloc for the first time gets an arena (arena_choose_hard()), as a rule
 * a new one until there are opt.narenas of them, and where background_thread is on a background
 * thread for it. jemalloc handles neither failure: without memory for the arena it goes on with a
 * null pointer, and without the thread it tries again for ever. A thread that has its data needs
 * none of that.
 */
#ifndef INJECTOR_FOOTPRINT_H
#define INJECTOR_FOOTPRINT_H

#include "injector/tracer.h"

/*
 * ERR_FAILED, with the numbers and a fix, when less is left to the target than a run in this mode
 * needs at most: for INJECTOR_INLINE, in a thread that never called jemalloc. Looks only.
 */
int footprint_check(const struct injector *inj, enum injector_mode mode, const struct call *calls,
		    size_t n, struct err *err) __must_check;

/* Could every call be made in a borrowed thread, as none takes long or needs files of its own? */
bool footprint_is_short(const struct call *calls, size_t n);

/*
 * Has this stopped thread its data of jemalloc's? Where its state cannot be read, for which no
 * registers are needed, the first thread is taken to have it: jemalloc's constructor runs in it.
 */
enum tristate footprint_has_data(const struct tracer *t, pid_t tid, const struct arch_regs *regs);

/*
 * May a thread be borrowed that has its data, or not? One without is passed over as long as others
 * may do; after that it depends on the room there is.
 */
bool footprint_may_borrow(struct tracer *t, enum tristate has_data);

#endif
