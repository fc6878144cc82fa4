// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: the borrowed thread of the target, and the helper thread it creates. */
#ifndef INJECTOR_BORROW_H
#define INJECTOR_BORROW_H

#include "injector/tracer.h"

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

#endif
