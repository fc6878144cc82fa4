// SPDX-License-Identifier: Apache-2.0
/*
 * Hard-coded facts about a C library: the system calls that create and end a thread, layouts,
 * functions that hold locks. Each library has one struct libc (glibc.c, musl.c), which a test
 * compares with the installed library.
 */
#ifndef INJECTOR_LIBC_H
#define INJECTOR_LIBC_H

#include "elf/image.h"
#include "injector/arch/arch.h" /* MUSL_TID and other offsets in its struct pthread */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9 */
#endif
#define HERE 0xffffff9c /* AT_FDCWD, as C libraries pass it */
#ifdef SYS_dup2
#define SYS_DUP_TO SYS_dup2
#else
#define SYS_DUP_TO SYS_dup3 /* the only one on newer architectures; no flags */
#endif

#define STACK_SIZE (1u << 20) /* of the helper thread */
#define GUARD_SIZE 4096
#define TCB_MAX 4096 /* bytes; more than any struct pthread */
#define ATTR_SIZE 64 /* bytes; the largest pthread_attr_t */
#define SIGNAL_BIT(sig) (UINT64_C(1) << ((sig)-1))

enum use {
	USE_INLINE = 1, /* calls in a borrowed thread */
	USE_THREAD = 2, /* creating the helper thread, its calls, its exit */
	USE_BOTH = USE_INLINE | USE_THREAD,
	USE_FILE = 4,  /* jemalloc writes */
	USE_MEMFD = 8, /* to a memfd that we create */
	USE_MAP = 16,  /* and the memfd is mapped (CALL_MAP), or CALL_EMPTY */
};

/*
 * With the arguments that a filter can check, which pointers are not. Where `must_work` is not set,
 * the filter may make the call fail.
 */
struct checked_call {
	long nr;
	const char *name;
	unsigned int uses, must_work; /* bits of enum use */
	uint64_t args[6];
};

/*
 * The helper thread sleeps in one of these between calls: they take no arguments, change nothing,
 * and may fail. Tried in this order.
 */
extern const struct checked_call libc_homes[];
extern const size_t n_libc_homes;

/* The calls of USE_MAP, the same for all C libraries. */
extern const struct checked_call libc_map_calls[];
extern const size_t n_libc_map_calls;

struct libc {
	const char *name;
	const struct checked_call *calls;
	size_t n_calls;
	const void *attr; /* pthread_attr_t: detached, STACK_SIZE, GUARD_SIZE */
	size_t attr_size;

	/*
	 * Bits: its internal signals, which stay unblocked in the helper and the borrowed thread.
	 * setuid(2) and similar functions send one of them to every thread, and wait until each has
	 * handled it.
	 */
	uint64_t open_signals;
	uint64_t unblocked;	 /* bits: signals that its first pthread_create() unblocks
				  * permanently */
	uint32_t cancel_pending; /* bits of the word at cancel_offset: a cancellation is pending */

	/* Its functions have no unwind information: stacks cannot be walked through them. */
	bool no_unwind;

	/* May this function hold a lock that our calls take, or call one that does? */
	bool (*holds_locks)(const char *function);

	/*
	 * The limits of a thread's stack, according to the `n` words of its struct pthread at
	 * `tls`. False if these words do not look like one, if `sp` is outside the limits, or if
	 * these are outside `map`: the mapping of `sp`, plus the part of the stack below it that
	 * the program has protected.
	 */
	bool (*stack)(const uint64_t *words, size_t n, uint64_t tls, uint64_t sp,
		      const struct range *map, struct range *stack);
};

extern const struct libc libc_glibc, libc_musl;

/* Numbers that stand for them in messages; NULL for an unknown number. */
unsigned int libc_number(const struct libc *libc);
const struct libc *libc_by_number(uint64_t number);

/* May all code of an image hold a lock that we need, judging by its file name? */
bool libc_image_holds_locks(const char *file);

/*
 * The image with the target's C library, shared or part of the main program, and which library it
 * is. *stripped is set if it is part of a program without symbols. ERR_FAILED for an unknown
 * library.
 */
struct image *libc_find(struct images *images, const struct libc **libc, bool *stripped,
			struct err *err);

/*
 * libc_glibc: hard-coded facts about glibc, which a test compares with the installed one
 * (tests/target/births.c and holders.c, tests/glibc.sh).
 */

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
