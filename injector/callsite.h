// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: addresses in the target, and code in which no thread may be borrowed. */
#ifndef INJECTOR_CALLSITE_H
#define INJECTOR_CALLSITE_H

#include "injector/arch/arch.h"
#include "injector/injector.h"
#include "injector/libc.h"
#include "injector/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tracer;

#define PROOF_LEN 56

/* Which threads may be safe, by what they do; what follows is looked at of these alone. */
enum caution {
	CAUTION_NONE, /* all dangerous code is known, and every stack can be walked */
	/*
	 * Who waits (rank_waits()), or runs outside of the C library: the stack of a thread within
	 * cannot be walked, so whether it holds a lock is not known.
	 */
	CAUTION_OUTSIDE,
	CAUTION_WAITING, /* who waits: not all dangerous code is known */
};

struct callsite {
	const struct libc *lib; /* which C library it is */
	uint64_t mallctl, stats_print, malloc_message;
	uint64_t pthread_create; /* 0: no thread can be made */
	uint64_t home;		 /* code in which the new thread lives between calls, 0: none */
	size_t home_call;	 /* the system call that it makes, of libc_homes */
	uint64_t restorer;
	struct arch_gadget gadget;
	bool has_errno;
	int64_t errno_offset; /* from the thread pointer */
	struct jemalloc_tsd tsd;
	uint64_t n_mappings;	/* of the target, when it was looked at */
	uint32_t cancel_offset; /* in struct pthread, the word of its cancellation; 0: not known */
	struct range *danger;	/* code that holds locks which a call of ours takes */
	size_t n_danger;
	struct range *known; /* functions of the C library that its symbols bound */
	size_t n_known;
	struct range libc;	   /* its code */
	struct range libpthread;   /* the same; empty from glibc 2.34 on */
	struct range clone;	   /* the root of a thread where clone3(2) was not to be had */
	struct range start_thread; /* what it calls; empty where it has no symbol */
	enum caution caution;
	unsigned char proof[PROOF_LEN]; /* what lies at the addresses above */
	struct range program;		/* the main program, if its linker made no search table */
	struct unwind_table table;	/* then this is it */
};

/* ERR_FAILED when something a call needs cannot be found. */
int callsite_find(struct callsite *cs, const struct proc *p, struct images *images,
		  const struct jemalloc *je, struct err *err) __must_check;
void callsite_fini(struct callsite *cs);
/* True while the code is still where it was found: no exec(2), no dlclose(3) since. */
bool callsite_holds(const struct tracer *t);
bool callsite_is_dangerous(const struct callsite *cs, uint64_t addr);
/* Is any aligned word of these bytes such an address? */
bool callsite_any_dangerous(const struct callsite *cs, const unsigned char *bytes, size_t len);
/* ERR_UNSAFE: caution says no; `who` begins the sentence, "it does not wait". */
int callsite_too_bold(const struct callsite *cs, enum error it, struct err *err);
/* In the C library, but in none of the functions that it names. */
bool callsite_is_unknown(const struct callsite *cs, uint64_t addr);
/*
 * Is `addr` where a thread began in clone(2)'s wrapper, `inner` being the frame that it called?
 * That is so before glibc 2.34, and where a filter says that there is no clone3(2), as systemd's
 * RestrictNamespaces= and container runtimes have it. `inner` is start_thread(), which has no
 * name to other files. The wrapper is dangerous everywhere else.
 */
bool callsite_is_root(const struct callsite *cs, uint64_t addr, uint64_t inner);

/* The fix of a refusal that another try does not change; those that do have none. */

#endif
