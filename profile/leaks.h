// SPDX-License-Identifier: Apache-2.0
/*
 * Finds what grows over a series of profiles, and keeps growing. doc/leaks.md describes the method,
 * and how often it is right.
 */
#ifndef PROFILE_LEAKS_H
#define PROFILE_LEAKS_H

#include "base/err.h"
#include "profile/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of rows that are tested, the most specific first. */
enum profile_leak_kind {
	PROFILE_LEAK_STACK,    /* what was allocated through one stack, by all threads */
	PROFILE_LEAK_LINE,     /* at one line of the source, through whatever stack */
	PROFILE_LEAK_FUNCTION, /* in one function itself */
	PROFILE_LEAK_CALLER,   /* in one function and its callees */
	PROFILE_LEAK_THREAD,   /* by one thread */
	PROFILE_LEAK_TOTAL,    /* in the whole process */
};

/* The threads that allocated what grows: all of one name, or one without a name. */
#define PROFILE_LEAK_THREADS 3
struct profile_leak_threads {
	uint32_t thread; /* index of series->all.threads: the one that grew most */
	size_t n;	 /* how many threads */
	double share;	 /* of the growth from the first profile to the last */
};

/* The growth of a row. */
struct profile_leak {
	enum profile_leak_kind kind;
	size_t stack;	 /* index of series->all.stacks: the stack, or one of them */
	uint32_t thread; /* index of series->all.threads; PROFILE_NONE unless it is of a thread */
	struct profile_line line;   /* the function, and with PROFILE_LEAK_LINE the line */
	size_t n_stacks;	    /* number of stacks, regardless of threads */
	bool rest;		    /* without what is in the more specific leaks */
	double rate;		    /* bytes per second */
	double rate_error;	    /* an upper bound of its standard error */
	double rate_low, rate_high; /* a confidence interval: 1 - SIGNIFICANCE_LEVEL */
	double first, last;	    /* bytes in the first profile and in the last */
	double p;     /* the probability of such growth without a leak: an upper bound */
	size_t curve; /* index in `curves` of its bytes in each profile */
	/*
	 * Largest growth first; what shrank, as in a thread that ended, does not count. n_named:
	 * number of names in all; 0: threads are not known, or the row is a thread.
	 */
	struct profile_leak_threads threads[PROFILE_LEAK_THREADS];
	size_t n_threads, n_named;
};

#define PROFILE_LEAKS_MIN 3 /* profiles; any two points lie on a line */
/* With fewer, memory that fluctuates can look as if it grew. */
#define PROFILE_LEAKS_ENOUGH 6
#define PROFILE_SUSPECTS_MAX 20

struct profile_leaks {
	/* Significant among all rows, and growing to the end. No byte is in two of them. */
	struct profile_leak *leaks;
	/* Growing, but not certainly: at most PROFILE_SUSPECTS_MAX stacks, lines and functions. */
	struct profile_leak *suspects;
	double *curves;
	size_t n_leaks, n_suspects; /* both sorted, fastest first */
	size_t n_tested, n_stacks;  /* rows tested; of these, stacks */
	double p_certain;	    /* the largest p that is significant among all others */
	double seconds;		    /* from the first to the last */
	double dispersion;	    /* of the stacks, as a multiple of sampling noise: at least 1 */
};

/*
 * `seconds` are the times of the profiles, in ascending order. Lines and functions are tested only
 * with names (all.symbols), threads only if they are recorded. ERR_FAILED: there are fewer than
 * PROFILE_LEAKS_MIN profiles, no time lies between them, they hold no sample, or memory ran out.
 * The caller ends `out` with profile_leaks_fini().
 */
int profile_leaks_find(const struct profile_series *series, const double *seconds,
		       struct profile_leaks *out, struct err *err) __must_check;
void profile_leaks_fini(struct profile_leaks *leaks);

#endif
