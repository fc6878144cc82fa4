// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: system calls, and the order in which threads are tried. */
#ifndef INJECTOR_RANK_H
#define INJECTOR_RANK_H

#include "injector/callsite.h"

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
 * The timeout of a call that is restarted after a stop: argument number *arg, in
 * milliseconds or as a pointer to a struct timespec; or SO_RCVTIMEO of a socket, if it is one.
 */
enum rank_limit { LIMIT_NONE, LIMIT_MS, LIMIT_POINTER, LIMIT_SOCKET };
enum rank_limit rank_limit(long nr, unsigned int *arg);
/* Does this system call fail with EINTR after a stop, and can it be restarted instead? */
bool rank_eintr_restartable(long nr);
/* Is it poll(2), which some processors have not? */
bool rank_is_poll(long nr);
/* Would a stop of this system call show in its result? */
bool rank_never(long nr, const uint64_t args[6]);
/*
 * In a system call that waits, and that neither jemalloc nor fork(3), the
 * loader or thread creation ever make: a thread in one holds none of their
 * locks, unless it was called back or interrupted by a signal.
 */
bool rank_waits(long nr, const uint64_t args[6]);

#endif
