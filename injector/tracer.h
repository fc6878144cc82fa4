// SPDX-License-Identifier: Apache-2.0
/*
 * Private to injector/: what the tracer works with, its memory of the target and its log.
 *
 * Who is who: the controller is the process of injector_run(). It forks a
 * tracer, which alone talks ptrace(2), and watches over it. Killing the tracer
 * at any instant is safe for the target; so the controller may do that when it is late, and
 * the tracer is killed by the kernel when the controller dies.
 *
 * A tracer that let go of its thread as it should may wait for another one, in which it makes the
 * same calls. One that failed ends: that alone lets go of all that it may have attached to.
 */
#ifndef INJECTOR_TRACER_H
#define INJECTOR_TRACER_H

#include "injector/callsite.h"
#include "injector/wait.h"
#include "sandbox/confined.h"

#include <stdatomic.h>

struct filters;

#define NICEST (-20)  /* setpriority(2), as far as we may: a late tracer is a long pause */
#define TEXT_MAX 4096 /* longest text read back: PATH_MAX */

struct shared_call {
	bool made, has_fd;
	int ret, sys;
	uint64_t call_us;
	size_t old_len;
	char old[TEXT_MAX];
};

enum phase {
	PHASE_SEARCH, /* nothing is stopped, or only for a look */
	PHASE_CLOCK,  /* nothing is stopped; the tracer waits for its turn on a certain CPU */
	PHASE_HOLD,   /* a thread is borrowed */
	PHASE_CALL,   /* the helper thread is at work; no thread of the program is stopped */
	PHASE_DONE
};

/*
 * The call a thread slept in when it was last stopped: if it is stopped in it once more, its
 * number is in no register any more (restart_syscall(2)).
 */
struct sleep {
	pid_t tid; /* 0: none */
	struct arch_regs regs;
};
#define SLEEPS_MAX 8

/* What the target has got from us, in this order: what is true of it if the tracer dies. */
enum progress {
	PROGRESS_NONE, /* nothing, or it was all put back */
	PROGRESS_SENT, /* a thread was sent off to make a thread; jemalloc was not called */
	PROGRESS_CALL, /* a call of jemalloc was begun */
};

/* What a tracer that failed wants of another one. */
enum another {
	ANOTHER_NONE,
	ANOTHER_NOW,  /* to try the other threads: only an end takes back what this one asked for */
	ANOTHER_LATER /* the machine had too much to do; a few times, with a rest in between */
};

/* What tracer and controller share; written by the tracer, read by the controller. */
struct shared {
	_Atomic enum phase phase;
	_Atomic uint64_t since_us; /* when the phase began, or the tracer last showed itself */
	_Atomic enum progress progress;
	_Atomic unsigned int attempts;
	bool failed;
	bool enough; /* by what a call returned, or read, those after it are not made */
	enum another another;
	bool unfit; /* only threads would do that this mode leaves alone */
	struct err err;
	struct injector_report report;
	struct sleep sleeps[SLEEPS_MAX]; /* of the threads let go last */
	unsigned int n_sleeps;		 /* so far: the next one's place, modulo SLEEPS_MAX */
	char log[4096];			 /* lines for -v */
	struct shared_call calls[];
};

/* To a tracer that waits: the thread that comes next. */
struct next {
	pid_t tid;
	uint64_t deadline_us, end_us; /* as in struct tracer */
};

/* The tracer of the run before, which waits for the next thread: see injector_run(). */
struct spare {
	pid_t pid; /* 0: there is none */
	int pidfd, socket;
	struct shared *shared;
	bool may_grow;
	struct call calls[CALLS_MAX]; /* what it makes in each thread */
	size_t n_calls;
};

struct injector {
	const struct proc *p;
	const struct images *images;
	const struct jemalloc *je;
	struct injector_options opt;
	struct proc_status start; /* the rights it had when it was looked at */
	uint64_t stack_limit;	  /* RLIMIT_STACK; RLIM_INFINITY where it is not known */
	uint64_t program;	  /* the number of the program that it ran then */
	struct callsite cs;
	struct sleep sleeps[SLEEPS_MAX]; /* from one tracer to the next */
	bool no_clock;			 /* a CPU gave the tracer no turn: see wait.c */
	struct spare spare;
	struct confined walker; /* walks stacks, for one tracer after the other: see walker.h */
};

/* Everything the tracer works with. */
struct tracer {
	struct injector *inj;
	struct call *calls;
	size_t n_calls;
	struct shared *shared;
	int mem;		/* /proc/PID/mem, bound to this mm */
	bool pokes;		/* which is not open for writing: that is done by PTRACE_POKEDATA */
	int maps;		/* /proc/PID/maps, likewise */
	int status;		/* the status file of the thread that is tried */
	pid_t proven;		/* the thread that may be changed, 0: none; see proof.h */
	struct proc_status now; /* the status of the thread that was proven last */
	struct wait wait;	/* what the thread that is tried waits for */
	int socket;		/* to the controller: descriptors; from it: struct next */
	dev_t memfd_dev;	/* what memory files are on; see memfd.h */
	enum injector_mode mode;
	pid_t only;	     /* the thread to borrow; 0: any */
	bool may_grow;	     /* a thread without jemalloc's data may be borrowed, */
	uint64_t patient_us; /* from then on, */
	bool passed_over;    /* if there is one */
	bool guarded; /* some thread has seccomp filters: they are read before it is borrowed */
	struct filters *filters; /* then: those of the thread read last; see filters.h */
	int reader;		 /* and a socket to the process that reads them, */
	pid_t reader_pid;	 /* which is this one */
	bool fenced;		 /* the last thread was let go because of them */
	bool has_walked;	 /* a stack, and the target has not gone on for long since */
	uint64_t deadline_us;	 /* of the search */
	uint64_t end_us;	 /* of all that the tracer does */
	bool waits;		 /* a thread is left alone for now, see wait.h */
	uint64_t look_us;	 /* when to look at it again; 0: any time */
};

/* How long what is done with a thread stopped may take: less than the watchdog allows. */
unsigned int tracer_patience_ms(const struct tracer *t);
void tracer_phase(struct tracer *t, enum phase phase);
void tracer_beat(struct tracer *t);
void tracer_log(struct tracer *t, const char *fmt, ...) __printf_like(2, 3);

/* The target's memory, bound to the mm that was there when the tracer began. */
int mem_read(const struct tracer *t, uint64_t addr, void *buf, size_t len, struct err *err)
	__must_check;
int mem_write(const struct tracer *t, uint64_t addr, const void *buf, size_t len, struct err *err)
	__must_check;

#endif
