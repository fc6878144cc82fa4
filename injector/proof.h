// SPDX-License-Identifier: Apache-2.0
/*
 * Verifies that the stopped thread belongs to the target. Only then may its state be set.
 *
 * An apparent thread of the target may be a separate process: clone(2) with CLONE_VM creates one
 * that shares the memory and is reported like a thread (PTRACE_EVENT_CLONE). It may then execve(2)
 * a set-user-ID program, which keeps its privileges under a privileged tracer. Its registers must
 * never be set. So only the functions below set registers, extended state and signal mask (make
 * lint checks that), and they refuse any thread but the one that proof_take() accepted last, which
 *
 *  - belongs to the target's thread group, so that it shares its memory,
 *  - has no more privileges than the process had when it was first examined,
 *  - has not called execve(2) since it was attached to: PTRACE_O_TRACEEXEC would have reported
 *    that, and the tracee would have been released at once (tracee.c).
 */
#ifndef INJECTOR_PROOF_H
#define INJECTOR_PROOF_H

#include "injector/tracer.h"

/*
 * Does this thread still run the program that was examined? Call it between PTRACE_SEIZE, from
 * which on every execve(2) is reported, and the first stop. ERR_LOST if not; ERR_UNSAFE when it has
 * just exited.
 */
int proof_program(const struct tracer *t, pid_t tid, struct err *err) __must_check;

/*
 * Verify a stopped thread: `status` is its status file in the target's /proc/PID/task. Fills
 * t->now. ERR_UNSAFE: it does not belong to the target, and its state cannot be set.
 */
int proof_take(struct tracer *t, pid_t tid, int status, struct err *err) __must_check;

/*
 * Read the status of a stopped thread from its file. Retried a few times when we hit a limit of our
 * own: without the status, an EINTR caused by the stop may become visible.
 */
int proof_status(int status, struct proc_status *now, struct err *err) __must_check;

/* Has `now` no privilege that `start` did not have? Exposed for its test. */
bool proof_no_more_rights(const struct proc_status *start, const struct proc_status *now);

/* On failure -1 with errno; EPERM for a thread that was not accepted. */
int proof_set_regs(const struct tracer *t, pid_t tid, const struct arch_regs *regs);
int proof_set_xstate(const struct tracer *t, pid_t tid, const struct arch_xstate *x);
int proof_set_sigmask(const struct tracer *t, pid_t tid, uint64_t mask);

#endif
