// SPDX-License-Identifier: Apache-2.0
/*
 * libc_glibc: hard-coded facts about glibc, which a test compares with the installed one
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
 * glibc's description for debuggers (nptl_db/structs.def) of the cancellation word in struct
 * pthread: its size in bits, the number of elements, its offset. Pending means CANCELED, or
 * CANCELING before glibc 2.34.
 */
#define GLIBC_CANCEL_SYMBOL "_thread_db_pthread_cancelhandling"
#define GLIBC_CANCEL_PENDING (1u << 2 | 1u << 3)
bool glibc_cancel_offset(const uint32_t field[3], uint32_t *offset);

/*
 * Functions of the C library that hold, directly or in a callee, the locks of thread creation, of
 * the loader, or of memory allocation: those that every libc exports, stripped or not; and the
 * internal ones that they jump to, which have names in a static program.
 */
extern const char *const glibc_holders[];
extern const size_t n_glibc_holders;

#endif
