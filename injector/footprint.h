// SPDX-License-Identifier: Apache-2.0
/*
 * Private to injector/: what an injection adds to a target, and whether its limits allow that.
 *
 * A thread that calls jemalloc for the first time gets an arena (arena_choose_hard()), usually a
 * new one until there are opt.narenas of them, and with background_thread on also a background
 * thread for it. jemalloc handles neither failure: without memory for the arena it dereferences a
 * null pointer, and without the thread it retries forever. A thread that already has jemalloc's
 * thread-specific data needs neither.
 */
#ifndef INJECTOR_FOOTPRINT_H
#define INJECTOR_FOOTPRINT_H

#include "injector/tracer.h"

/*
 * ERR_FAILED, with the numbers and a fix, when the target's limits leave less than a run in this
 * mode may need; for INJECTOR_INLINE, in a thread that never called jemalloc. Read-only.
 */
int footprint_check(const struct injector *inj, enum injector_mode mode, const struct call *calls,
		    size_t n, struct err *err) __must_check;

/* Can every call be made in a borrowed thread: none takes long, or needs a file? */
bool footprint_is_short(const struct call *calls, size_t n);

/*
 * Does this stopped thread have jemalloc's thread-specific data? If its state cannot be read, the
 * first thread is assumed to have it, since jemalloc's constructor runs in it; `regs` is not used
 * then.
 */
enum tristate footprint_has_data(const struct tracer *t, pid_t tid, const struct arch_regs *regs);

/*
 * May a thread with or without that data be borrowed? One without is passed over as long as another
 * one may do; after that it depends on the limits.
 */
bool footprint_may_borrow(struct tracer *t, enum tristate has_data);

#endif
