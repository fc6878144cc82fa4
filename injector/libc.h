// SPDX-License-Identifier: Apache-2.0
/*
 * What is known of a C library by hand: the system calls of making and ending a thread, layouts,
 * which functions hold locks. Each library has one struct libc (glibc.h, musl.h), compared with
 * the installed library by a test.
 */
#ifndef INJECTOR_LIBC_H
#define INJECTOR_LIBC_H

#include "elf/image.h"

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
#define SYS_DUP_TO SYS_dup3 /* newer processors have this alone; no flags */
#endif

#define STACK_SIZE (1u << 20) /* of the new thread */
#define GUARD_SIZE 4096
#define TCB_MAX 4096 /* bytes; more than struct pthread of any */
#define ATTR_SIZE 64 /* bytes; what a pthread_attr_t takes at most */
#define SIGNAL_BIT(sig) (UINT64_C(1) << ((sig)-1))

enum use {
	USE_INLINE = 1, /* calls in a borrowed thread */
	USE_THREAD = 2, /* making a thread, its calls, its end */
	USE_BOTH = USE_INLINE | USE_THREAD,
	USE_FILE = 4,  /* jemalloc writes */
	USE_MEMFD = 8, /* to a file that we make */
	USE_MAP = 16,  /* which is mapped (CALL_MAP), and CALL_EMPTY */
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

/*
 * A new thread lives in one of these between calls: it takes nothing, changes nothing, and an
 * error is as good. They are looked for in this order.
 */
extern const struct checked_call libc_homes[];
extern const size_t n_libc_homes;

/* What is the same whatever C library it is: of USE_MAP. */
extern const struct checked_call libc_map_calls[];
extern const size_t n_libc_map_calls;

struct libc {
	const char *name;
	const struct checked_call *calls;
	size_t n_calls;
	const void *attr; /* pthread_attr_t: detached, STACK_SIZE, GUARD_SIZE */
	size_t attr_size;

	/*
	 * Bits: its own signals that stay open in a thread that works for us. By one of them
	 * setuid(2) and its kin reach every thread, and they wait until each has taken it.
	 */
	uint64_t open_signals;
	uint64_t unblocked;	 /* bits: what its first pthread_create() unblocks for good */
	uint32_t cancel_pending; /* in the word at cancel_offset: a cancellation is pending */

	/* Its functions have no unwind information: no walk leads out of them. */
	bool no_unwind;

	/* May this function hold a lock that a call of ours takes, or lead to one that does? */
	bool (*holds_locks)(const char *function);

	/*
	 * The limits of a thread's stack, by the `n` words of its struct pthread at `tls`. False
	 * if these words are no such record, or `sp` is not within the limits, or they not within
	 * `map`: the mapping of `sp`, and what the program has protected of the stack below it.
	 */
	bool (*stack)(const uint64_t *words, size_t n, uint64_t tls, uint64_t sp,
		      const struct range *map, struct range *stack);
};

extern const struct libc libc_glibc, libc_musl;

/* As numbers for a message; NULL for one that none has. */
unsigned int libc_number(const struct libc *libc);
const struct libc *libc_by_number(uint64_t number);

/* An image of which all code may hold a needed lock, by the name of its file. */
bool libc_image_holds_locks(const char *file);

/*
 * The C library of the target, and which: shared, or a part of the main program. *stripped is set
 * where it is part of a program without symbols. ERR_FAILED when it is none that is known.
 */
struct image *libc_find(struct images *images, const struct libc **libc, bool *stripped,
			struct err *err);

#endif
