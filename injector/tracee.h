// SPDX-License-Identifier: Apache-2.0
/* One traced thread: stopping it, waiting for it, releasing it (ptrace(2)). */
#ifndef INJECTOR_TRACEE_H
#define INJECTOR_TRACEE_H

#include "injector/tracer.h"

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

/* The borrowed thread of the target, and the helper thread it creates. */

/* A borrowed thread, from its stop to its release. */
struct borrow {
	pid_t tid;
	struct arch_regs regs;				 /* its saved state: registers, */
	struct arch_xstate xstate;			 /* extended state, */
	uint64_t sigmask;				 /* signal mask */
	int sys;					 /* and errno */
	uint64_t xframe, scratch, home, ucontext, chain; /* addresses within its stack */
	uint64_t stopped_us;
	pid_t child; /* the helper thread it created, or 0 */
};

/*
 * Have the stopped thread create the helper thread (t->mode INJECTOR_THREAD) or make all the calls
 * (INJECTOR_INLINE), then restore and release it. On failure it is released too, or restores its
 * own state once the tracer has ended.
 */
int borrow_run(struct tracer *t, struct borrow *b, struct err *err) __must_check;
/* The most that borrow_run() writes below the thread's stack pointer, in bytes. */
size_t borrow_frame_max(void);

/* Have the helper thread make the calls, and exit (worker.c). */
int worker_run(struct tracer *t, pid_t tid, struct err *err) __must_check;

/* One call's arguments, laid out as bytes for the target. */

#define ARGS_MAX (8 * 1024)
struct call_args {
	uint64_t fn;
	uint64_t args[6];
	unsigned char bytes[ARGS_MAX]; /* to be written to `addr`; the result word comes first */
	size_t len;
	uint64_t addr;
	uint64_t result; /* address at which the return value is stored */
};
/* `path` replaces the text of CALL_MEMFD. */
int call_args_build(struct call_args *a, const struct callsite *cs, const struct call *call,
		    const char *path, uint64_t addr, struct err *err) __must_check;
/* Read the results back from the target; *go_on is true when the next call may be made. */
int call_args_collect(const struct tracer *t, const struct call_args *a, const struct call *call,
		      uint64_t tls, struct shared_call *out, bool *go_on, struct err *err)
	__must_check;

#endif
