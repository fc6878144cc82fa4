// SPDX-License-Identifier: Apache-2.0
/*
 * The private half of injector.h: not for those who call it.
 *
 * Who is who: the controller is the process of injector_run(). It forks a
 * tracer, which alone talks ptrace(2), and watches over it. Killing the tracer
 * at any instant is safe for the target; so the controller may do that when it is late, and
 * the tracer is killed by the kernel when the controller dies.
 */
#ifndef INJECTOR_PRIVATE_H
#define INJECTOR_PRIVATE_H

#include "injector/arch/arch.h"
#include "injector/injector.h"
#include "injector/libc.h"
#include "injector/site.h"
#include "injector/unwind.h"
#include "injector/wait.h"

#include <stdatomic.h>

#define PROOF_LEN 48

struct tracer;
struct filters;

/* Which threads may be safe, by what they do; what follows is looked at of these alone. */
enum caution {
	CAUTION_NONE, /* all dangerous code is known, and every stack can be walked */
	/*
	 * Who waits (rank_waits()), or runs outside of the C library: no walk leads out of that, so
	 * that nobody knows whether a lock is held within.
	 */
	CAUTION_OUTSIDE,
	CAUTION_WAITING, /* who waits: not all dangerous code is known */
};

/* Addresses in the target, and code in which no thread may be borrowed. */
struct callsite {
	const struct libc *lib; /* which C library it is */
	uint64_t mallctl, stats_print, malloc_message;
	uint64_t pthread_create; /* 0: no thread can be made */
	uint64_t getppid;	 /* entry; where the new thread lives between calls */
	uint64_t restorer;
	struct arch_gadget gadget;
	bool has_errno;
	int64_t errno_offset;	/* from the thread pointer */
	uint32_t cancel_offset; /* in struct pthread, the word of its cancellation; 0: not known */
	struct range *danger;	/* code that holds locks which a call of ours takes */
	size_t n_danger;
	struct range *known; /* functions of the C library that its symbols bound */
	size_t n_known;
	struct range libc;	   /* its code */
	struct range libpthread;   /* the same; empty from glibc 2.34 on */
	struct range clone;	   /* the root of a thread where clone3(2) was not to be had */
	struct range start_thread; /* what it calls; empty where it has no symbol */
	enum caution caution;
	unsigned char proof[PROOF_LEN]; /* what lies at the addresses above */
	struct range program;		/* the main program, if its linker made no search table */
	struct unwind_table table;	/* then this is it */
};

/* ERR_FAILED when something a call needs cannot be found. */
int callsite_find(struct callsite *cs, const struct proc *p, struct images *images,
		  const struct jemalloc *je, struct err *err) __must_check;
/*
 * Set errno_offset and cancel_offset; `pthread` is NULL but before glibc 2.34. ERR_FAILED for a
 * musl whose struct pthread is not the known one.
 */
int callsite_find_thread(struct callsite *cs, const struct proc *p, struct image *libc,
			 struct image *pthread, struct err *err) __must_check;
void callsite_fini(struct callsite *cs);
/* True while the code is still where it was found: no exec(2), no dlclose(3) since. */
bool callsite_holds(const struct tracer *t);
bool callsite_is_dangerous(const struct callsite *cs, uint64_t addr);
/* Is any aligned word of these bytes such an address? */
bool callsite_any_dangerous(const struct callsite *cs, const unsigned char *bytes, size_t len);
/* ERR_UNSAFE: caution says no; `who` begins the sentence, "it does not wait". */
int callsite_too_bold(const struct callsite *cs, const char *who, struct err *err);
/* In the C library, but in none of the functions that it names. */
bool callsite_is_unknown(const struct callsite *cs, uint64_t addr);
/*
 * Is `addr` where a thread began in clone(2)'s wrapper, `inner` being the frame that it called?
 * That is so before glibc 2.34, and where a filter says that there is no clone3(2), as systemd's
 * RestrictNamespaces= and container runtimes have it. `inner` is start_thread(), which has no
 * name to other files. The wrapper is dangerous everywhere else.
 */
bool callsite_is_root(const struct callsite *cs, uint64_t addr, uint64_t inner);

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
	PHASE_CALL,   /* the new thread is at work; nobody of the program stands */
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

/* What tracer and controller share; written by the tracer, read by the controller. */
struct shared {
	_Atomic enum phase phase;
	_Atomic uint64_t since_us; /* when the phase began, or the tracer last showed itself */
	_Atomic enum progress progress;
	_Atomic unsigned int attempts;
	bool failed;
	bool again; /* a thread did not stop; a fresh tracer should try the others */
	struct err err;
	struct injector_report report;
	struct sleep sleeps[SLEEPS_MAX]; /* of the threads let go last */
	unsigned int n_sleeps;		 /* so far: the next one's place, modulo SLEEPS_MAX */
	char log[4096];			 /* lines for -v */
	struct shared_call calls[];
};

struct injector {
	const struct proc *p;
	const struct images *images;
	const struct jemalloc *je;
	struct injector_options opt;
	struct proc_status start; /* the rights it had when it was looked at */
	uint64_t program;	  /* the number of the program that it ran then */
	pid_t tid;		  /* the only thread to borrow, 0: any */
	struct callsite cs;
	struct sleep sleeps[SLEEPS_MAX]; /* from one tracer to the next */
	bool no_clock;			 /* a CPU gave the tracer no turn: see wait.c */
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
	int socket;		/* to the controller: descriptors */
	dev_t memfd_dev;	/* what memory files are on; see memfd.h */
	enum injector_mode mode;
	bool guarded; /* some thread has seccomp filters: they are read before it is borrowed */
	struct filters *filters; /* then: those of the thread read last; see filters.h */
	int reader;		 /* and a socket to the process that reads them, */
	pid_t reader_pid;	 /* which is this one */
	bool fenced;		 /* the last thread was let go because of them */
	uint64_t deadline_us;	 /* of the search */
	uint64_t end_us;	 /* of all that the tracer does */
	bool waits;		 /* a thread is left alone for now, see wait.h */
	uint64_t look_us;	 /* when to look at it again; 0: any time */
};

/* Is the target in a state in which a thread of it can be stopped, and one that we can work on? */
int check_target(const struct proc *p, const struct images *images, struct err *err) __must_check;
/*
 * ERR_FAILED when this thread's return addresses are kept on a shadow stack as well, which knows
 * nothing of ours: its first return from our call would be SIGSEGV.
 */
int check_shadow_stack(pid_t tid, const struct proc_status *st, struct err *err) __must_check;
/* The fix for who cannot have jemalloc's statistics. */
#define CHECK_GET_INSTEAD "read single values: get PID stats.allocated"
/* Can these calls be made in it? */
int check_calls(const struct injector *inj, const struct call *calls, size_t n, struct err *err)
	__must_check;
/* Would one of them end it, because its files may not grow? */
int check_file_limit(const struct injector *inj, enum injector_mode mode, const struct call *calls,
		     size_t n, struct err *err) __must_check;
bool calls_want_file(const struct call *calls, size_t n);

void tracer_phase(struct tracer *t, enum phase phase);
/* What to do where no thread can be made in it for these calls: the words of a fix. */
const char *tracer_without_thread(const struct tracer *t);
void tracer_beat(struct tracer *t);
void tracer_log(struct tracer *t, const char *fmt, ...) __printf_like(2, 3);

/* The tracer's whole life; fills t->shared. */
void tracer_main(struct tracer *t);

/* The target's memory, bound to the mm that was there when the tracer began. */
int mem_read(const struct tracer *t, uint64_t addr, void *buf, size_t len, struct err *err)
	__must_check;
int mem_write(const struct tracer *t, uint64_t addr, const void *buf, size_t len, struct err *err)
	__must_check;

/* rank.c: the order in which threads are tried. */
enum rank { RANK_BEST, RANK_TIMED, RANK_RUNNING, RANK_RESTARTED, RANK_UNKNOWN, RANK_NEVER };
struct candidate {
	pid_t tid;
	enum rank rank;
};
int rank_threads(const struct proc *p, enum caution caution, struct candidate **out, size_t *n,
		 struct err *err) __must_check;
/* The same for one thread. ERR_NOPROC when it has ended. */
int rank_one(const struct proc *p, pid_t tid, enum caution caution, struct candidate **out,
	     size_t *n, struct err *err) __must_check;
/*
 * What a call that is made anew after a stop has for a timeout: argument number *arg, in
 * milliseconds or as a pointer to a struct timespec; or SO_RCVTIMEO of a socket, if it is one.
 */
enum rank_limit { LIMIT_NONE, LIMIT_MS, LIMIT_POINTER, LIMIT_SOCKET };
enum rank_limit rank_limit(long nr, unsigned int *arg);
/* Does this system call answer EINTR to a stop, and can be made anew instead? */
bool rank_eintr_restartable(long nr);
/* Would a stop of this system call show in its result? */
bool rank_never(long nr, const uint64_t args[6]);
/*
 * In a system call that waits, and that neither jemalloc nor fork(3), the
 * loader or thread creation ever make: whoever is in one holds none of their
 * locks, unless it was called back or interrupted by a signal.
 */
bool rank_waits(long nr, const uint64_t args[6]);

/* safepoint.c: may this stopped thread be borrowed? */
/* 0: yes; -1: no, and err says why (ERR_UNSAFE). */
int safepoint_check(const struct tracer *t, pid_t tid, const struct arch_regs *regs,
		    struct err *err) __must_check;

/* The fix of a refusal that another try does not change; those that do have none. */
#define SAFEPOINT_FIX_SYMBOLS "install its debug symbols (see SYMBOLS in jeprof-ctl(8))"
#define SAFEPOINT_FIX_NONE "another try will not help"

/* unwind.c: walk the frames, exactly. 0 when the whole stack is known and harmless. */
int unwind_check(const struct tracer *t, const struct arch_regs *regs, const unsigned char *stack,
		 uint64_t stack_addr, size_t stack_len, struct err *err) __must_check;

/* callargs.c: one call's arguments as bytes for the target. */
#define ARGS_MAX (8 * 1024)
struct call_args {
	uint64_t fn;
	uint64_t args[6];
	unsigned char bytes[ARGS_MAX]; /* go to `addr`; the result word comes first */
	size_t len;
	uint64_t addr;
	uint64_t result; /* where what the function returned is stored */
};
/* `path` replaces the text of CALL_MEMFD. */
int call_args_build(struct call_args *a, const struct callsite *cs, const struct call *call,
		    const char *path, uint64_t addr, struct err *err) __must_check;
/* Take the results out of the target again; true in *go_on when the next call may be made. */
int call_args_collect(const struct tracer *t, const struct call_args *a, const struct call *call,
		      uint64_t tls, struct shared_call *out, bool *go_on, struct err *err)
	__must_check;

/* borrow.c: a borrowed thread, from its stop to its release. */
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

/* worker.c: the new thread makes the calls. */
int worker_run(struct tracer *t, pid_t tid, struct err *err) __must_check;

/*
 * confine.c: what the tracer, or its reader of filters, gives up. Irrevocable, for this process
 * alone.
 */
int confine_capabilities(bool reads_filters, struct err *err) __must_check;
int confine_syscalls(struct err *err) __must_check;
/* Only who has CAP_SYS_ADMIN, and no filter, may read filters. */
bool confine_rules_filters(void);

/* seccomp.c: has any thread a filter? */
bool seccomp_present(const struct proc *p);
/*
 * May this thread, which is not stopped, do what we are about to have it do, alone as well,
 * should we be killed? ERR_UNSAFE with t->fenced set when its filters would punish it.
 */
int seccomp_read(struct tracer *t, pid_t tid, struct err *err) __must_check;
/* When it is stopped, and t->now is its status: has it the filters that were read? */
int seccomp_check(struct tracer *t, pid_t tid, struct err *err) __must_check;
/* Likewise: do they let restart_syscall(2) pass? */
bool seccomp_restarts(const struct tracer *t, pid_t tid);

#endif
