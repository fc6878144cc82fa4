// SPDX-License-Identifier: Apache-2.0
/*
 * What is known of musl by hand: libc_musl. Of 1.2.0 to 1.2.5 (src/internal/pthread_impl.h,
 * src/thread/pthread_create.c); compared with the installed one by tests/matrix/musl.t.
 *
 * musl is built without unwind tables, so no walk leads out of its functions. What makes a thread
 * safe there is the system call that it waits in: musl makes none of rank_waits() while it holds
 * a lock that a call of ours takes (its thread list, the loader's, those of thread-specific data
 * and of its malloc). It waits for all of them by FUTEX_WAIT, which is not among them. Or the
 * thread runs outside of musl, and no function of it that calls the program back is on its stack.
 */
#ifndef INJECTOR_MUSL_H
#define INJECTOR_MUSL_H

#include "injector/arch/arch.h" /* where in its struct pthread MUSL_TID and its like lie */
#include "injector/libc.h"

/* Of a static program: a function that every one has, and a text where its names were stripped. */
#define MUSL_START_SYMBOL "__init_libc"
#define MUSL_TEXT "No error information" /* strerror(0) */

/* pthread_attr_t (include/alltypes.h.in); the same since 0.9 on 64-bit machines. */
struct musl_attr {
	uint64_t stack_size, guard_size, stack_addr;
	int32_t detach, sched, policy, prio;
	uint64_t reserved[2];
};
#define MUSL_DETACHED 1

#define MUSL_SIGCANCEL 33
#define MUSL_SIGSYNCCALL 34

/* In strcmp()'s order. */
extern const char *const musl_holders[];
extern const size_t n_musl_holders;

#endif
