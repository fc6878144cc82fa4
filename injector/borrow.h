// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: the two threads of the target that work for us. */
#ifndef INJECTOR_BORROW_H
#define INJECTOR_BORROW_H

#include "injector/tracer.h"

/* A borrowed thread, from its stop to its release. */
struct borrow {
	pid_t tid;
	struct arch_regs regs; /* its true state: this, and ... */
	struct arch_xstate xstate;
	uint64_t sigmask;
	int sys;					 /* errno */
	uint64_t xframe, scratch, home, ucontext, chain; /* addresses of what lies on its stack */
	uint64_t stopped_us;
	pid_t child; /* the thread it made, 0 for none */
};

/*
 * Have the stopped thread make a thread (t->mode INJECTOR_THREAD) or all the
 * calls (INJECTOR_INLINE), and give it back. On failure the thread is given
 * back too, or mends itself when the tracer ends.
 */
int borrow_run(struct tracer *t, struct borrow *b, struct err *err) __must_check;
/* What that writes to the thread's stack at most, in bytes, from its stack pointer downwards. */
size_t borrow_frame_max(void);

/* The thread that it made makes the calls (worker.c), and ends. */
int worker_run(struct tracer *t, pid_t tid, struct err *err) __must_check;

#endif
