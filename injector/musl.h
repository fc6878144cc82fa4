// SPDX-License-Identifier: Apache-2.0
/*
 * libc_musl: hard-coded facts about musl 1.2.0 to 1.2.5 (src/internal/pthread_impl.h,
 * src/thread/pthread_create.c), which tests/matrix/musl.t compares with the installed one.
 *
 * musl is built without unwind tables, so stacks cannot be walked through its functions. A thread
 * in musl is safe if it waits in one of the system calls of rank_waits(): musl makes none of them
 * while it holds a lock that our calls take (thread list, loader, thread-specific data, malloc),
 * and waits for these locks by FUTEX_WAIT, which is not among them. A thread outside musl is safe
 * if no musl function that calls back into the program is on its stack.
 */
#ifndef INJECTOR_MUSL_H
#define INJECTOR_MUSL_H

#include "injector/arch/arch.h" /* MUSL_TID and other offsets in its struct pthread */
#include "injector/libc.h"

/* To recognize static programs: a function in all of them, and a string in stripped ones. */
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
