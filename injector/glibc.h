// SPDX-License-Identifier: Apache-2.0
/*
 * What is known of glibc by hand: libc_glibc. Compared with the installed one by a test
 * (tests/target/births.c and holders.c, tests/glibc.sh).
 */
#ifndef INJECTOR_GLIBC_H
#define INJECTOR_GLIBC_H

#include "injector/libc.h"

/* pthread_attr_t (nptl/internaltypes.h); the same since 2.1 on 64-bit machines. */
struct glibc_attr {
	int32_t sched_param, sched_policy, flags, pad;
	uint64_t guard_size, stack_addr, stack_size, reserved[3];
};
#define ATTR_FLAG_DETACHSTATE 1
_Static_assert(sizeof(struct glibc_attr) == 64, "not over 56 bytes and padding");

#define SIG_SETXID 33 /* the C library's internal signal (nptl(7)) */

/*
 * What glibc says to debuggers (nptl_db/structs.def) of the word of struct pthread in which a
 * cancellation shows: how many bits it has, how many of it there are, and where. Pending is
 * CANCELED, or CANCELING before glibc 2.34.
 */
#define GLIBC_CANCEL_SYMBOL "_thread_db_pthread_cancelhandling"
#define GLIBC_CANCEL_PENDING (1u << 2 | 1u << 3)
bool glibc_cancel_offset(const uint32_t field[3], uint32_t *offset);

/*
 * Functions of the C library that hold, or lead to those that hold, the locks of thread creation,
 * of the loader, and of memory: those that every libc exports, stripped or not; and those inside
 * it that they jump to, of which a static program knows the names.
 */
extern const char *const glibc_holders[];
extern const size_t n_glibc_holders;

#endif
