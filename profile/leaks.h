// SPDX-License-Identifier: Apache-2.0
/*
 * What grows over a series of profiles, and goes on growing. doc/leaks.md has the method, and how
 * often it is right.
 */
#ifndef PROFILE_LEAKS_H
#define PROFILE_LEAKS_H

#include "base/err.h"
#include "profile/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is tested, the most specific first. */
enum profile_leak_kind {
	PROFILE_LEAK_STACK,    /* what was allocated through one stack, by all threads */
	PROFILE_LEAK_LINE,     /* at one line of the source, through whatever stack */
	PROFILE_LEAK_FUNCTION, /* in one function itself */
	PROFILE_LEAK_CALLER,   /* in one function and in all that it called */
	PROFILE_LEAK_THREAD,   /* by one thread */
	PROFILE_LEAK_TOTAL,    /* in the process */
};

/* Threads that what grows was allocated by: those of one name, or one that has none. */
#define PROFILE_LEAK_THREADS 3
struct profile_leak_threads {
	uint32_t thread; /* index of series->all.threads: the one that grew most */
	size_t n;	 /* how many threads */
	double share;	 /* of what grew from the first profile to the last */
};

/* The growth of one of these. */
struct profile_leak {
	enum profile_leak_kind kind;
	size_t stack;	 /* index of series->all.stacks: the stack, or one of them */
	uint32_t thread; /* index of series->all.threads; PROFILE_NONE unless it is of a thread */
	struct profile_line line; /* the function, and with PROFILE_LEAK_LINE the line */
	size_t n_stacks;	  /* through how many stacks, threads apart */
	bool rest;	   /* counts only what is in none of the leaks that are more specific */
	double rate;	   /* bytes per second */
	double rate_error; /* its standard error, at most */
	double rate_low, rate_high; /* a confidence interval: 1 - SIGNIFICANCE_LEVEL */
	double first, last;	    /* bytes in the first profile and in the last */
	double p;     /* the probability that nothing that leaks grows that much; never too small */
	size_t curve; /* its bytes in each profile: index of curves */
	/*
	 * Those that grew most, first; what shrank, as that of a thread which ended, counts for
	 * none. Of n_named names in all; 0: threads are not known, or it is of a thread.
	 */
	struct profile_leak_threads threads[PROFILE_LEAK_THREADS];
	size_t n_threads, n_named;
};

#define PROFILE_LEAKS_MIN 3 /* profiles; through two of them every line fits */
/* With fewer, memory that goes up and down can look as if it grew. */
#define PROFILE_LEAKS_ENOUGH 6
#define PROFILE_SUSPECTS_MAX 20

struct profile_leaks {
	/* Significant beside all others, and going on to the end. No byte is in two of them. */
	struct profile_leak *leaks;
	/* Grow too, not beyond doubt: at most PROFILE_SUSPECTS_MAX stacks, lines and functions. */
	struct profile_leak *suspects;
	double *curves;
	size_t n_leaks, n_suspects; /* the fastest first, both */
	size_t n_tested, n_stacks;  /* n_stacks: as many of n_tested are stacks */
	double p_certain;	    /* with this p, one is significant beside all others */
	double seconds;		    /* from the first to the last */
	double dispersion; /* of the stacks, as a multiple of what sampling makes: at least 1 */
};

/*
 * `seconds` are the times of the profiles, in ascending order. Without names (all.symbols) no line
 * and no function is tested, and without threads no thread. ERR_FAILED when
 * there are fewer than PROFILE_LEAKS_MIN or no time lies between them, when they
 * hold no sample, and without memory. The caller ends `out` with profile_leaks_fini().
 */
int profile_leaks_find(const struct profile_series *series, const double *seconds,
		       struct profile_leaks *out, struct err *err) __must_check;
void profile_leaks_fini(struct profile_leaks *leaks);

#endif
