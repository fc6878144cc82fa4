// SPDX-License-Identifier: Apache-2.0
/* One traced thread: stopping it, waiting for it, releasing it (ptrace(2)). */
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
	STOP_GONE /* it is no longer our tracee */
};

/*
 * SEIZE and INTERRUPT, then wait briefly for the stop. 0: stopped. -1: not stopped; the thread was
 * released unchanged. ERR_UNSAFE: try another one; ERR_PERM, ERR_BUSY: no thread will do.
 */
int tracee_stop(struct tracer *t, pid_t tid, struct err *err) __must_check;

/*
 * Must follow tracee_stop() at once: read the registers into b->regs, verify that the thread may be
 * changed (proof.h, `status`), hide an EINTR, remember a sleep. ERR_UNSAFE. Whatever it returns,
 * release the thread by tracee_release() with b->regs.
 */
int tracee_look(struct tracer *t, struct borrow *b, int status, struct err *err) __must_check;

/*
 * Wait for any stop; blocks (the watchdog limits that). `sig` gets the signal. A tracee that called
 * execve(2) is released unchanged, and counts as gone.
 */
enum stop tracee_wait(struct tracer *t, pid_t tid, int *sig);

/* As tracee_wait(), with heartbeats for the watchdog. */
enum stop tracee_wait_beating(struct tracer *t, pid_t tid, int *sig);

/* PTRACE_CONT or PTRACE_SYSCALL; ERR_LOST when it is gone. */
int tracee_resume(pid_t tid, int request, int sig, struct err *err) __must_check;

/* The address of a stopped thread's rseq(2) area, 0 without one. */
uint64_t tracee_rseq(pid_t tid);

/*
 * Some system calls fail with EINTR because of the stop itself. Unless a signal of the program is
 * the cause, change `regs` so that the call is restarted.
 */
bool tracee_hide_eintr(const struct tracer *t, struct arch_regs *regs);

/*
 * Release a thread in a PTRACE_EVENT_STOP with its own state, so that an interrupted system call
 * continues. A thread that was not verified is released unchanged.
 */
void tracee_release(const struct tracer *t, pid_t tid, const struct arch_regs *regs);

#endif
