// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: checks made before any thread is stopped. */
#ifndef INJECTOR_CHECK_H
#define INJECTOR_CHECK_H

#include "injector/tracer.h"

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

#endif
