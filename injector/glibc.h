// SPDX-License-Identifier: Apache-2.0
/*
 * What is known of glibc by hand, and compared with the installed one by a test
 * (tests/target/births.c, tests/run/glibc.t): the system calls of making and ending a thread, and
 * two layouts.
 */
#ifndef INJECTOR_GLIBC_H
#define INJECTOR_GLIBC_H

#include <stddef.h>
#include <stdint.h>

/* pthread_attr_t (nptl/internaltypes.h); the same since 2.1 on x86-64. */
struct glibc_attr {
	int32_t sched_param, sched_policy, flags, pad;
	uint64_t guard_size, stack_addr, stack_size, reserved[3];
};
#define ATTR_FLAG_DETACHSTATE 1
_Static_assert(sizeof(struct glibc_attr) == 64, "not over 56 bytes and padding");

#define STACK_SIZE (1u << 20)
#define GUARD_SIZE 4096
#define TCB_MAX 4096  /* more than struct pthread */
#define SIG_SETXID 33 /* the C library's internal signal (nptl(7)) */

enum use {
	USE_INLINE = 1, /* calls in a borrowed thread */
	USE_THREAD = 2, /* making a thread, its calls, its end */
	USE_BOTH = USE_INLINE | USE_THREAD,
	USE_FILE = 4,  /* jemalloc writes */
	USE_MEMFD = 8, /* to a file that we make */
};

/*
 * With the arguments that a filter can see: pointers it cannot. Where `must_work` is not set,
 * an error from the filter is as good.
 */
struct checked_call {
	long nr;
	const char *name;
	unsigned int uses, must_work; /* bits of enum use */
	uint64_t args[6];
};
extern const struct checked_call glibc_calls[];
extern const size_t n_glibc_calls;

#endif
