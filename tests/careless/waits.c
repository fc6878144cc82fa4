// SPDX-License-Identifier: Apache-2.0
/*
 * Linked instead of functions of injector/wait.c: a tracer that ignores timeouts restarts each wait
 * that it interrupts with its full timeout. Only tests/long/waits.t uses it, as a control.
 */
#include "injector/tracer.h"

void __wrap_wait_look(struct tracer *t, pid_t tid);
void __wrap_wait_settle(struct tracer *t, const struct arch_regs *regs);

void __wrap_wait_look(struct tracer *t, pid_t tid)
{
	(void)tid;
	t->wait = (struct wait){ 0 };
}

void __wrap_wait_settle(struct tracer *t, const struct arch_regs *regs)
{
	(void)t;
	(void)regs;
}
