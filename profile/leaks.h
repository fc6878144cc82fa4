// SPDX-License-Identifier: Apache-2.0
/*
 * What grows over a series of profiles, and goes on growing. doc/heap-format.md
 * has the argument for its statistics.
 */
#ifndef PROFILE_LEAKS_H
#define PROFILE_LEAKS_H

#include "profile/series.h"

#include <stdbool.h>

/* The growth of one stack, as a straight line fitted to its bytes over time. */
struct profile_leak {
	size_t stack;	    /* index of series->all.stacks */
	double rate;	    /* bytes per second */
	double rate_error;  /* its standard error, at most */
	double first, last; /* bytes in the first profile and in the last */
	double p;   /* the probability that sampling alone makes that much; never too small */
	bool leaks; /* significant beside all others, and still growing at the end */
};

#define PROFILE_LEAKS_MIN 3 /* profiles; through two of them every line fits */

struct profile_leaks {
	struct profile_leak *v; /* that grow: those that leak first, by rate */
	size_t n, n_leaks;
	size_t n_tested; /* stacks, whether they grow or not */
	double seconds;	 /* from the first to the last */
	/*
	 * What the stacks do in general, in parts of what sampling makes them do: at least 1. All
	 * rate_error and p allow for it.
	 */
	double dispersion;
};

/*
 * `seconds` are the times of the profiles, in ascending order. ERR_FAILED when
 * there are fewer than PROFILE_LEAKS_MIN or no time lies between them, and
 * without memory. The caller ends `out` with profile_leaks_fini().
 */
int profile_leaks_find(const struct profile_series *series, const double *seconds,
		       struct profile_leaks *out, struct err *err) __must_check;
void profile_leaks_fini(struct profile_leaks *leaks);

#endif
