// SPDX-License-Identifier: Apache-2.0
/*
 * Private to injector/: the tracer's state, its access to the target's memory, and its log.
 *
 * The controller is the process that calls injector_run(). It forks a tracer, the only process that
 * uses ptrace(2), and acts as its watchdog. Killing the tracer at any instant is safe for the
 * target; so the controller may kill it when it is late, and the kernel kills it when the
 * controller dies.
 *
 * After a success, the tracer may wait for another thread in which to make the same calls. After a
 * failure it exits: only that releases everything that it may have attached to.
 */
#ifndef INJECTOR_TRACER_H
#define INJECTOR_TRACER_H

#include "injector/callsite.h"
#include "injector/wait.h"
#include "sandbox/confined.h"

#include <stdatomic.h>

struct filters;

#define NICEST (-20)  /* setpriority(2), if permitted: a delayed tracer prolongs the pause */
#define TEXT_MAX 4096 /* longest string read back: PATH_MAX */

struct shared_call {
	bool made, has_fd;
	int ret, sys;
	uint64_t call_us;
	size_t old_len;
	char old[TEXT_MAX];
};

enum phase {
	PHASE_SEARCH, /* no thread is stopped, except briefly to examine it */
	PHASE_CLOCK,  /* no thread is stopped; the tracer waits to run on a certain CPU */
	PHASE_HOLD,   /* a thread is borrowed */
	PHASE_CALL,   /* the helper thread is running; no thread of the program is stopped */
	PHASE_DONE
};

/*
 * The system call a thread slept in when it was last stopped: if it is stopped there again, no
 * register holds the call's number any longer (restart_syscall(2)).
 */
struct sleep {
	pid_t tid; /* 0: none */
	struct arch_regs regs;
};
#define SLEEPS_MAX 8

/* How far the target has been affected, in ascending order; valid if the tracer dies. */
enum progress {
	PROGRESS_NONE, /* not at all, or everything was restored */
	PROGRESS_SENT, /* a thread is creating the helper thread; jemalloc was not called */
	PROGRESS_CALL, /* a call of jemalloc was started */
};

/* Whether another tracer should try again after a failure. */
enum another {
	ANOTHER_NONE,
	ANOTHER_NOW,  /* with the other threads: only this one's exit withdraws its stop request */
	ANOTHER_LATER /* the machine was overloaded; a few times, with pauses in between */
};

/* Shared memory of tracer and controller; written by the tracer, read by the controller. */
struct shared {
	_Atomic enum phase phase;
	_Atomic uint64_t since_us; /* time of the last phase change or heartbeat */
	_Atomic enum progress progress;
	_Atomic unsigned int attempts;
	bool failed;
	bool enough; /* the result of a call rules out those after it */
	enum another another;
	bool unfit; /* only threads remain that this mode does not use */
	struct err err;
	struct injector_report report;
	struct sleep sleeps[SLEEPS_MAX]; /* of the threads released last */
	unsigned int n_sleeps;		 /* total so far; modulo SLEEPS_MAX, the next index */
	char log[4096];			 /* output of -v */
	struct shared_call calls[];
};

/* Sent to a waiting tracer: the next thread. */
struct next {
	pid_t tid;
	uint64_t deadline_us, end_us; /* as in struct tracer */
};

/* The tracer of the previous run, waiting for the next thread: see injector_run(). */
struct spare {
	pid_t pid; /* 0: none */
	int pidfd, socket;
	struct shared *shared;
	bool may_grow;
	struct call calls[CALLS_MAX]; /* the calls it makes in each thread */
	size_t n_calls;
};

struct injector {
	const struct proc *p;
	const struct images *images;
	const struct jemalloc *je;
	struct injector_options opt;
	struct proc_status start; /* its privileges when it was examined */
	uint64_t stack_limit;	  /* RLIMIT_STACK; RLIM_INFINITY if unknown */
	uint64_t program;	  /* proc_program() at that time */
	struct callsite cs;
	struct sleep sleeps[SLEEPS_MAX]; /* carried over from one tracer to the next */
	bool no_clock;			 /* the tracer could not run on a CPU: see wait.c */
	struct spare spare;
	struct confined walker; /* walks stacks, for successive tracers: see walker.h */
};

/* The tracer's state. */
struct tracer {
	struct injector *inj;
	struct call *calls;
	size_t n_calls;
	struct shared *shared;
	int mem;		/* /proc/PID/mem, bound to this mm */
	bool pokes;		/* `mem` is read-only; writes use PTRACE_POKEDATA */
	int maps;		/* /proc/PID/maps, likewise */
	int status;		/* status file of the thread being tried */
	pid_t proven;		/* the thread whose state may be set, 0: none; see proof.h */
	struct proc_status now; /* status of the thread verified last */
	struct wait wait;	/* what the thread being tried waits for */
	int socket;		/* sends descriptors to the controller, receives struct next */
	dev_t memfd_dev;	/* device of memory files; see memfd.h */
	enum injector_mode mode;
	pid_t only;	  /* the thread to borrow; 0: any */
	bool may_grow;	  /* a thread without jemalloc's data may be borrowed if need be, */
	bool grows;	  /* and now */
	bool passed_over; /* there was such a thread */
	bool guarded;	  /* a thread has seccomp filters, to be read before it is borrowed */
	struct filters *filters; /* if so, those of the thread read last; see filters.h */
	int reader;		 /* and a socket to the process that reads them */
	pid_t reader_pid;	 /* that process */
	bool fenced;		 /* the last thread was rejected because of its filters */
	bool has_walked;	 /* a stack was walked, and the target has hardly run since */
	uint64_t deadline_us;	 /* of the search */
	uint64_t end_us;	 /* of everything the tracer does */
	bool waits;		 /* a thread is spared for now; see wait.h */
	uint64_t look_us;	 /* when to examine it again; 0: any time */
};

/* Time limit for what is done while a thread is stopped: below the watchdog's. */
unsigned int tracer_patience_ms(const struct tracer *t);
void tracer_phase(struct tracer *t, enum phase phase);
void tracer_beat(struct tracer *t);
void tracer_log(struct tracer *t, const char *fmt, ...) __printf_like(2, 3);

/* Access the target's memory, bound to the mm that it had when the tracer started. */
int mem_read(const struct tracer *t, uint64_t addr, void *buf, size_t len, struct err *err)
	__must_check;
int mem_write(const struct tracer *t, uint64_t addr, const void *buf, size_t len, struct err *err)
	__must_check;

#endif
