// SPDX-License-Identifier: Apache-2.0
/*
 * Private to injector/: addresses in the target, and the code in which no thread may be borrowed.
 */
#ifndef INJECTOR_CALLSITE_H
#define INJECTOR_CALLSITE_H

#include "injector/arch/arch.h"
#include "injector/injector.h"
#include "injector/libc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tracer;

/*
 * A search table for an image without one. Static programs often have .eh_frame but no
 * .eh_frame_hdr; then the table is built here, from the target's memory, before any thread is
 * stopped.
 */

/* As in .eh_frame_hdr: relative to the table's base, ascending by `start`. */
struct unwind_entry {
	int32_t start, fde;
};

struct unwind_table {
	struct unwind_entry *v;
	size_t n;
	uint64_t base; /* address of .eh_frame */
};

/*
 * Build the table from the `len` bytes of .eh_frame at address `addr`. It ends at the first entry
 * that cannot be parsed: missing functions count as unknown. The bytes are untrusted.
 */
void unwind_table_make(struct unwind_table *t, const unsigned char *bytes, size_t len,
		       uint64_t addr);
void unwind_table_fini(struct unwind_table *t);

#define PROOF_LEN 56

/* Which threads are considered at all, by what they are doing; all further checks still apply. */
enum caution {
	CAUTION_NONE, /* any: all dangerous code is known, and every stack can be walked */
	/*
	 * Threads that wait (rank_waits()) or run outside the C library. The stack of a thread
	 * inside it cannot be walked, so whether that thread holds a lock is unknown.
	 */
	CAUTION_OUTSIDE,
	CAUTION_WAITING, /* threads that wait: not all dangerous code is known */
};

struct callsite {
	const struct libc *lib; /* the target's C library */
	uint64_t mallctl, stats_print, malloc_message;
	uint64_t pthread_create; /* 0: no thread can be created */
	uint64_t home;		 /* code in which the helper thread sleeps between calls; 0: none */
	size_t home_call;	 /* the system call it makes: an index into libc_homes */
	uint64_t restorer;
	struct arch_gadget gadget;
	bool has_errno;
	int64_t errno_offset; /* from the thread pointer */
	struct jemalloc_tsd tsd;
	uint64_t n_mappings;	/* of the target, when it was examined */
	uint32_t cancel_offset; /* of the cancellation word in struct pthread; 0: not known */
	struct range *danger;	/* code that may hold a lock that our calls take */
	size_t n_danger;
	struct range *known; /* functions of the C library, as delimited by its symbols */
	size_t n_known;
	struct range libc;	   /* code of the C library */
	struct range libpthread;   /* code of libpthread; empty from glibc 2.34 on */
	struct range clone;	   /* root frame of a thread created without clone3(2) */
	struct range start_thread; /* the function that it calls; empty without a symbol */
	enum caution caution;
	unsigned char proof[PROOF_LEN]; /* the bytes at the addresses above */
	struct range program;		/* the main program, if it has no .eh_frame_hdr */
	struct unwind_table table;	/* search table for that program */
};

/* ERR_FAILED when something a call needs cannot be found. */
int callsite_find(struct callsite *cs, const struct proc *p, struct images *images,
		  const struct jemalloc *je, struct err *err) __must_check;
void callsite_fini(struct callsite *cs);
/* True while the code is still where it was found: no execve(2) or dlclose(3) since. */
bool callsite_holds(const struct tracer *t);
bool callsite_is_dangerous(const struct callsite *cs, uint64_t addr);
/* Is any aligned word in these bytes a dangerous address? */
bool callsite_any_dangerous(const struct callsite *cs, const unsigned char *bytes, size_t len);
/* Always ERR_UNSAFE, with the reason why cs->caution rules the thread out. `it` is the prefix. */
int callsite_too_bold(const struct callsite *cs, enum error it, struct err *err);
/* In the C library, but in no function that its symbols name. */
bool callsite_is_unknown(const struct callsite *cs, uint64_t addr);
/*
 * Is `addr` the root frame of a thread, in the wrapper of clone(2), and `inner` an address in the
 * frame that it called? Threads start there before glibc 2.34, and where a seccomp filter fails
 * clone3(2) with ENOSYS, as systemd's RestrictNamespaces= and container runtimes do. `inner` must
 * be in start_thread(), which is not an exported symbol. In any other position the wrapper is
 * dangerous.
 */
bool callsite_is_root(const struct callsite *cs, uint64_t addr, uint64_t inner);

#endif
