// SPDX-License-Identifier: Apache-2.0
/*
 * Is the stopped thread one of the target's? Only then is anything set in it.
 *
 * A thread of the target's may be none: clone(2) with CLONE_VM makes a process that runs in the
 * same memory, tells us of itself as a thread does (PTRACE_EVENT_CLONE), and may then execve(2) a
 * set-user-ID program, which keeps its rights because our tracer has them. Its registers must
 * never be set. So the functions below are the only ones that set registers, extended state and
 * signal mask (make lint checks that), and they refuse every thread but the one that
 * proof_take() accepted last, which
 *
 *  - is of the target's thread group, so that it shares its memory,
 *  - has no more rights than the process had when it was looked at first,
 *  - has called no execve(2) since it was attached to: PTRACE_O_TRACEEXEC would have shown it, and
 *    the tracee is let go at once then (tracee.c).
 */
#ifndef INJECTOR_PROOF_H
#define INJECTOR_PROOF_H

#include "injector/tracer.h"

/*
 * To be called between PTRACE_SEIZE, from which on no execve(2) stays unseen, and the first stop:
 * does this thread still run the program that was looked at? ERR_LOST if not; ERR_UNSAFE when it
 * has just ended.
 */
int proof_program(const struct tracer *t, pid_t tid, struct err *err) __must_check;

/*
 * Of a thread that is stopped: `status` is its status file in the target's /proc/PID/task. Fills
 * t->now. ERR_UNSAFE: it is not one of the target's, and nothing can be set in it.
 */
int proof_take(struct tracer *t, pid_t tid, int status, struct err *err) __must_check;

/*
 * Read the status of a thread that is stopped, from its file. A limit of ours is tried against some
 * times more: a thread whose status is not known may keep an EINTR that the stop has left.
 */
int proof_status(int status, struct proc_status *now, struct err *err) __must_check;

/* Has `now` no right that `start` did not have? Exposed for its test. */
bool proof_no_more_rights(const struct proc_status *start, const struct proc_status *now);

/* -1 with errno; EPERM for a thread that was not accepted. */
int proof_set_regs(const struct tracer *t, pid_t tid, const struct arch_regs *regs);
int proof_set_xstate(const struct tracer *t, pid_t tid, const struct arch_xstate *x);
int proof_set_sigmask(const struct tracer *t, pid_t tid, uint64_t mask);

#endif
