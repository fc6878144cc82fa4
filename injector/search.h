// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: finds a thread that may be borrowed, and carries out the run. */
#ifndef INJECTOR_SEARCH_H
#define INJECTOR_SEARCH_H

#include "injector/callsite.h"
#include "injector/tracer.h"

/*
 * Main function of the tracer, a new child of `controller`, which it does not outlive. It keeps
 * none of the standard streams and blocks all signals. Fills t->shared.
 */
void tracer_main(struct tracer *t, pid_t controller);

/* The order in which threads are tried, by their system calls. */
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
 * How a call that is restarted after a stop gets its timeout: as argument number *arg, in
 * milliseconds or as a pointer to a struct timespec; or as SO_RCVTIMEO, if it is on a socket.
 */
enum rank_limit { LIMIT_NONE, LIMIT_MS, LIMIT_POINTER, LIMIT_SOCKET };
enum rank_limit rank_limit(long nr, unsigned int *arg);
/* Does this system call fail with EINTR after a stop, and can it be restarted instead? */
bool rank_eintr_restartable(long nr);
/* Is it poll(2), which some architectures lack? */
bool rank_is_poll(long nr);
/* Would a stop change the result of this system call? */
bool rank_never(long nr, const uint64_t args[6]);
/*
 * Is it a waiting system call that jemalloc, fork(3), the loader and thread creation never make? A
 * thread in one holds none of their locks, unless it is in a callback of theirs or in a signal
 * handler.
 */
bool rank_waits(long nr, const uint64_t args[6]);

/* May this stopped thread be borrowed? ERR_UNSAFE: no, and why. */
int safepoint_check(struct tracer *t, pid_t tid, const struct arch_regs *regs, struct err *err)
	__must_check;

#endif
