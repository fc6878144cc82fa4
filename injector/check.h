// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: what rules out a run, or a thread for it. */
#ifndef INJECTOR_CHECK_H
#define INJECTOR_CHECK_H

#include "base/err.h"
#include "injector/tracer.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Can a thread of the target be stopped in its present state, and is it a kind of process that we
 * support?
 */
int check_target(const struct proc *p, const struct images *images, struct err *err) __must_check;
/*
 * ERR_FAILED when this thread has a shadow stack: it lacks the return addresses that we add, so the
 * first return from our call would raise SIGSEGV.
 */
int check_shadow_stack(pid_t tid, const struct proc_status *st, struct err *err) __must_check;
/* Can these calls be made in the target? */
int check_calls(const struct injector *inj, enum injector_mode mode, const struct call *calls,
		size_t n, struct err *err) __must_check;
/* Would RLIMIT_FSIZE kill the target during one of these calls? */
int check_file_limit(const struct injector *inj, enum injector_mode mode, const struct call *calls,
		     size_t n, struct err *err) __must_check;
/* The fix to suggest for these calls where no helper thread can be created. */
enum fix check_without_thread(const struct call *calls, size_t n);
/* Do they need a file (CALL_MEMFD, CALL_STATS), a mapping, a dump: hence a helper thread? */
bool calls_want_file(const struct call *calls, size_t n);
bool calls_want_map(const struct call *calls, size_t n);
bool calls_want_dump(const struct call *calls, size_t n);

/*
 * What an injection adds to a target, and whether its limits allow that.
 *
 * A thread that calls jemalloc for the first time gets an arena (arena_choose_hard()), usually a
 * new one until there are opt.narenas of them, and with background_thread on also a background
 * thread for it. jemalloc handles neither failure: without memory for the arena it dereferences a
 * null pointer, and without the thread it retries forever. A thread that already has jemalloc's
 * thread-specific data needs neither.
 */

/*
 * ERR_FAILED, with the numbers and a fix, when the target's limits leave less than a run in this
 * mode may need; for INJECTOR_INLINE, in a thread that never called jemalloc. Read-only.
 */
int footprint_check(const struct injector *inj, enum injector_mode mode, const struct call *calls,
		    size_t n, struct err *err) __must_check;

/* Can every call be made in a borrowed thread: none takes long, or needs a file? */
bool footprint_is_short(const struct call *calls, size_t n);

/*
 * Does this stopped thread have jemalloc's thread-specific data? If its state cannot be read, the
 * first thread is assumed to have it, since jemalloc's constructor runs in it; `regs` is not used
 * then.
 */
enum tristate footprint_has_data(const struct tracer *t, pid_t tid, const struct arch_regs *regs);

/*
 * May a thread with or without that data be borrowed? One without is passed over as long as another
 * one may do; after that it depends on the limits.
 */
bool footprint_may_borrow(struct tracer *t, enum tristate has_data);

/* Allows one jeprof-ctl per user at a time on each process. */

/*
 * Lock `pid` for this process. *lock is a descriptor that holds the lock until it is closed, or
 * this process ends in any way. ERR_BUSY names the process that holds it.
 *
 * It is an fcntl(2) lock on one byte of a file in a directory private to the user (base/private.h):
 * no other user can take it, and it cannot become stale. Closing any other descriptor of that file
 * would release it, so a process holds only one at a time.
 *
 * Where there is no such directory (/run is read-only, or it is writable for others), *lock is -1,
 * and err says why although 0 is returned: concurrent runs are safe, as each traces a different
 * thread; the second one may be refused midway (ERR_BUSY), or wait longer. The same holds for two
 * users.
 */
int lock_target(pid_t pid, int *lock, struct err *err) __must_check;

#endif
