// SPDX-License-Identifier: Apache-2.0
/*
 * Waits with a relative timeout that a stop cuts short, and that are made anew (rank.c). Made anew
 * with its whole time, a wait that is stopped again and again never ends.
 *
 * So what remains is put into the register that holds the timeout, where it is one (epoll_wait,
 * epoll_pwait, poll). When the wait began is known from outside: the kernel says when a thread ran
 * last (proc_thread_ran()), which is when it went to sleep. Also after a stop of ours, since the
 * register then holds what remained.
 *
 * A timeout in memory is the program's, and is not changed. Such a thread is left alone while
 * another one will do, or until its wait is over if that is soon. A wait that was lengthened beyond
 * the time when it was to end is not stopped again, by any run. That takes a note: in the free part
 * of the thread's own stack, below the red zone, where the frame of borrow.c goes. It lasts as long
 * as the wait, because a signal handler, which may overwrite it, ends the wait. It is believed if
 * the thread went to sleep once, and no more, since it was written.
 */
#ifndef INJECTOR_WAIT_H
#define INJECTOR_WAIT_H

#include "injector/arch/arch.h"
#include "process/proc.h"

struct tracer;
struct borrow;

enum wait_kind {
	WAIT_OTHER,    /* nothing that a stop lengthens, as far as is known */
	WAIT_REGISTER, /* the timeout is in a register that may be changed */
	WAIT_MEMORY,   /* it is in memory, its register may be in use, or it is of unknown age */
	WAIT_SOCKET,   /* SO_RCVTIMEO, of unknown length; none if not `certain` */
};

struct wait {
	pid_t tid;
	enum wait_kind kind;
	bool certain;
	bool noted;	      /* it was made anew by us already */
	uint64_t switches;    /* how often the thread has gone to sleep */
	uint64_t limit_us;    /* the timeout as it stands in the call; 0: not known */
	uint64_t began_us;    /* CLOCK_MONOTONIC: when it went to sleep; 0: not known */
	uint64_t deadline_us; /* when the wait ends, or would have without us; 0: not known */
};

#define WAIT_NOTE_SIZE 32 /* room for the note, right below the red zone */

/* Before the thread is stopped. Nothing is changed in it. */
void wait_look(struct tracer *t, pid_t tid);
/* After a process of ours stopped it, made its call anew and let it go: is it the same wait? */
void wait_look_again(struct tracer *t, pid_t tid);
/*
 * Is the thread to be left alone now, since its wait would end later? *until_us, if not 0, is
 * when to look again.
 */
bool wait_is_spared(const struct tracer *t, uint64_t *until_us);
/* When it is stopped, with `regs`, and t->now is its status. */
void wait_settle(struct tracer *t, const struct arch_regs *regs);
/* `regs` are about to make the call anew: with what remains of its time, if that can be. */
void wait_shorten(const struct tracer *t, struct arch_regs *regs);
/*
 * The last thing before a stopped thread is let go, after it was borrowed: leave a note, and report
 * a wait that ends later.
 */
void wait_note(const struct tracer *t, const struct borrow *b);

#endif
