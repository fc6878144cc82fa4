// SPDX-License-Identifier: Apache-2.0
/* One traced thread: stopping it, waiting for it, letting it go (ptrace(2)). */
#ifndef INJECTOR_TRACEE_H
#define INJECTOR_TRACEE_H

#include "injector/borrow.h"

#define GET_RSEQ_CONFIGURATION 0x420f /* PTRACE_GET_RSEQ_CONFIGURATION, Linux 5.13 */

enum stop {
	STOP_EVENT,   /* PTRACE_EVENT_STOP by our PTRACE_INTERRUPT, or a new thread's first */
	STOP_GROUP,   /* the process is being stopped by a signal */
	STOP_SYSCALL, /* entry or exit */
	STOP_CLONE,   /* PTRACE_EVENT_CLONE */
	STOP_SIGNAL,  /* a signal is about to be delivered */
	STOP_OTHER,
	STOP_GONE /* it is no tracee of ours any more */
};

/*
 * SEIZE and INTERRUPT, and wait for the stop, not for long. 0: stopped.
 * -1: not; the thread was let go as it was. ERR_UNSAFE: try another one;
 * ERR_PERM, ERR_BUSY: no thread will do.
 */
int tracee_stop(struct tracer *t, pid_t tid, struct err *err) __must_check;

/*
 * The first thing to do with a thread that tracee_stop() stopped: its registers into b->regs, the
 * proof that it may be changed (proof.h, `status`), an EINTR hidden, a sleep remembered.
 * ERR_UNSAFE; whatever it returns, tracee_release() with b->regs lets go of the thread.
 */
int tracee_look(struct tracer *t, struct borrow *b, int status, struct err *err) __must_check;

/*
 * Wait for any stop; blocks (the watchdog sees to its end). `sig` gets the signal. A tracee that
 * called execve(2) is let go as it is, and counts as gone.
 */
enum stop tracee_wait(struct tracer *t, pid_t tid, int *sig);

/* As tracee_wait(), showing the watchdog that we live. */
enum stop tracee_wait_beating(struct tracer *t, pid_t tid, int *sig);

/* PTRACE_CONT or PTRACE_SYSCALL; ERR_LOST when it is gone. */
int tracee_resume(pid_t tid, int request, int sig, struct err *err) __must_check;

/* Where a stopped thread's rseq(2) area is, 0 without one. */
uint64_t tracee_rseq(pid_t tid);

/*
 * Some system calls answer EINTR to the stop itself. When no signal of the
 * program's own is the cause, change `regs` so that the call is made anew.
 */
bool tracee_hide_eintr(const struct tracer *t, struct arch_regs *regs);

/*
 * Let go of a thread that stands in a PTRACE_EVENT_STOP with its own state,
 * so that an interrupted system call goes on. One that was not proven is let go as it is.
 */
void tracee_release(const struct tracer *t, pid_t tid, const struct arch_regs *regs);

#endif
