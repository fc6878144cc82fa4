// SPDX-License-Identifier: Apache-2.0
/*
 * What is known of glibc by hand, and compared with the installed one by a test
 * (tests/target/births.c and holders.c, tests/glibc.sh): the system calls of making and ending a
 * thread, layouts, and which functions hold locks.
 */
#ifndef INJECTOR_GLIBC_H
#define INJECTOR_GLIBC_H

#include <stdbool.h>
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

/*
 * What glibc says to debuggers (nptl_db/structs.def) of the word of struct pthread in which a
 * cancellation shows: how many bits it has, how many of it there are, and where. Pending is
 * CANCELED, or CANCELING before glibc 2.34.
 */
#define GLIBC_CANCEL_SYMBOL "_thread_db_pthread_cancelhandling"
#define GLIBC_CANCEL_PENDING (1u << 2 | 1u << 3)
bool glibc_cancel_offset(const uint32_t field[3], uint32_t *offset);

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

/*
 * Functions of the C library that hold, or lead to those that hold, the locks of thread creation,
 * of the loader, and of memory: those that every libc exports, stripped or not; and those inside
 * it that they jump to, of which a static program knows the names.
 */
extern const char *const glibc_holders[];
extern const size_t n_glibc_holders;
bool glibc_holds_locks(const char *function);

/* An image of which all code may hold such a lock, by the name of its file. */
bool glibc_image_holds_locks(const char *file);

#endif
