// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: can it be done, before any thread is stopped? */
#ifndef INJECTOR_CHECK_H
#define INJECTOR_CHECK_H

#include "injector/tracer.h"

/* Is the target in a state in which a thread of it can be stopped, and one that we can work on? */
int check_target(const struct proc *p, const struct images *images, struct err *err) __must_check;
/*
 * ERR_FAILED when this thread's return addresses are kept on a shadow stack as well, which knows
 * nothing of ours: its first return from our call would be SIGSEGV.
 */
int check_shadow_stack(pid_t tid, const struct proc_status *st, struct err *err) __must_check;
/* Can these calls be made in it? */
int check_calls(const struct injector *inj, enum injector_mode mode, const struct call *calls,
		size_t n, struct err *err) __must_check;
/* Would one of them end it, because its files may not grow? */
int check_file_limit(const struct injector *inj, enum injector_mode mode, const struct call *calls,
		     size_t n, struct err *err) __must_check;
/* What to do where no thread can be made in it for these calls: the words of a fix. */
enum fix check_without_thread(const struct call *calls, size_t n);
/* Can they be made in a thread of our own alone? */
bool calls_want_file(const struct call *calls, size_t n);
bool calls_want_map(const struct call *calls, size_t n);
bool calls_want_dump(const struct call *calls, size_t n);

#endif
