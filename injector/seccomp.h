// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: checks what the target's seccomp filters allow us to have it do. */
#ifndef INJECTOR_SECCOMP_H
#define INJECTOR_SECCOMP_H

#include "injector/tracer.h"

/*
 * Does this thread, or any thread if `tid` is 0, have a filter? Fails if a limit on our side
 * prevents reading that.
 */
int seccomp_present(const struct proc *p, pid_t tid, bool *present, struct err *err) __must_check;
/*
 * May this thread, which is not stopped, do what we are about to have it do, also without us should
 * we be killed? ERR_UNSAFE with t->fenced set when its filters would punish that.
 */
int seccomp_read(struct tracer *t, pid_t tid, struct err *err) __must_check;
/*
 * Would the filters read last allow an inline run: the same calls, with a dump to a file in the
 * target, or single values instead of statistics?
 */
bool seccomp_allows_inline(const struct tracer *t);
/* With the thread stopped, and t->now its status: does it have the filters that were read? */
int seccomp_check(struct tracer *t, pid_t tid, struct err *err) __must_check;
/* Likewise: do they allow restart_syscall(2)? */
bool seccomp_restarts(const struct tracer *t, pid_t tid);

#endif
