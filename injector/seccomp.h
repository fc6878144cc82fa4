// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: what seccomp filters of the target let pass of what we have it do. */
#ifndef INJECTOR_SECCOMP_H
#define INJECTOR_SECCOMP_H

#include "injector/tracer.h"

/*
 * Has this thread a filter; any thread if `tid` is 0? Fails where that cannot be read, and the
 * limit is ours.
 */
int seccomp_present(const struct proc *p, pid_t tid, bool *present, struct err *err) __must_check;
/*
 * May this thread, which is not stopped, do what we are about to have it do, alone as well,
 * should we be killed? ERR_UNSAFE with t->fenced set when its filters would punish it.
 */
int seccomp_read(struct tracer *t, pid_t tid, struct err *err) __must_check;
/*
 * Would the filters read last let a borrowed thread do it: the same calls, a dump to a file of the
 * target's own, single values in place of statistics?
 */
bool seccomp_allows_inline(const struct tracer *t);
/* When it is stopped, and t->now is its status: has it the filters that were read? */
int seccomp_check(struct tracer *t, pid_t tid, struct err *err) __must_check;
/* Likewise: do they let restart_syscall(2) pass? */
bool seccomp_restarts(const struct tracer *t, pid_t tid);

#endif
