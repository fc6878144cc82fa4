// SPDX-License-Identifier: Apache-2.0
/*
 * Waits with a relative timeout that a stop interrupts and that we restart (rank.c). If restarted
 * with its full timeout, a wait that is stopped again and again would never end.
 *
 * So if the timeout is in a register (epoll_wait, epoll_pwait, poll), the remaining time is put
 * there. The start of the wait is known from outside: the kernel shows when a thread ran last
 * (proc_thread_ran()), which is when it went to sleep. That also works after a stop of ours, since
 * the register then holds what remained.
 *
 * A timeout in memory belongs to the program and is not changed. Such a thread is spared while
 * another one will do, or until its wait is over if that is soon. A wait that was prolonged beyond
 * its original end is not stopped again, by any run. That takes a note in the unused part of the
 * thread's own stack, below the red zone, where the frame of borrow.c goes. It lasts as long as the
 * wait, because a signal handler, which may overwrite it, ends the wait. It is valid if the thread
 * has gone to sleep exactly once since it was written.
 */
#ifndef INJECTOR_WAIT_H
#define INJECTOR_WAIT_H

#include "injector/arch/arch.h"
#include "process/proc.h"

struct tracer;
struct borrow;

enum wait_kind {
	WAIT_OTHER,    /* nothing known to be prolonged by a stop */
	WAIT_REGISTER, /* the timeout is in a register that may be changed */
	WAIT_MEMORY,   /* it is in memory, its register may be in use, or its start is unknown */
	WAIT_SOCKET,   /* SO_RCVTIMEO of unknown length; perhaps none unless `certain` */
};

struct wait {
	pid_t tid;
	enum wait_kind kind;
	bool certain;
	bool noted;	      /* we have restarted it before */
	uint64_t switches;    /* number of times the thread has gone to sleep */
	uint64_t limit_us;    /* the timeout argument; 0: not known */
	uint64_t began_us;    /* CLOCK_MONOTONIC: when it went to sleep; 0: not known */
	uint64_t deadline_us; /* the end of the wait, or what it would be without us; 0: not
			       * known */
};

#define WAIT_NOTE_SIZE 32 /* of the note, right below the red zone */

/* Call it before the thread is stopped. Read-only. */
void wait_look(struct tracer *t, pid_t tid);
/*
 * Call it after another process of ours has stopped the thread, restarted its call and released it:
 * is it still the same wait?
 */
void wait_look_again(struct tracer *t, pid_t tid);
/*
 * Should the thread be spared for now, because its wait would be prolonged? *until_us, if not 0, is
 * when to check again.
 */
bool wait_is_spared(const struct tracer *t, uint64_t *until_us);
/* Call it when the thread is stopped, with `regs`, and t->now is its status. */
void wait_settle(struct tracer *t, const struct arch_regs *regs);
/* Give the call that `regs` are about to restart its remaining time, if possible. */
void wait_shorten(const struct tracer *t, struct arch_regs *regs);
/* Call it last before a borrowed thread is released: leave a note, and report a prolonged wait. */
void wait_note(const struct tracer *t, const struct borrow *b);

#endif
