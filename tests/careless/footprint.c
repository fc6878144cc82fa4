// SPDX-License-Identifier: Apache-2.0
/*
 * A careless build: replaces injector/footprint.c, has every call made by a new thread, and never
 * asks whether there is room for what that adds to the target.
 */
#include "injector/check.h"

int footprint_check(const struct injector *inj, enum injector_mode mode, const struct call *calls,
		    size_t n, struct err *err)
{
	(void)inj, (void)mode, (void)calls, (void)n, (void)err;
	return 0;
}

bool footprint_is_short(const struct call *calls, size_t n)
{
	(void)calls, (void)n;
	return false;
}

enum tristate footprint_has_data(const struct tracer *t, pid_t tid, const struct arch_regs *regs)
{
	(void)t, (void)tid, (void)regs;
	return TRI_YES;
}

bool footprint_may_borrow(struct tracer *t, enum tristate has_data)
{
	(void)t, (void)has_data;
	return true;
}
