// SPDX-License-Identifier: Apache-2.0
/*
 * What grows over a series of profiles, and goes on growing. doc/heap-format.md
 * has the argument for its statistics.
 */
#ifndef PROFILE_LEAKS_H
#define PROFILE_LEAKS_H

#include "base/err.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>

/* Several profiles of one program side by side: the counts of each stack in each of them. */

struct profile_series_row {
	double *value, *variance; /* of each stack of `all`, as far as `n_stacks` */
	size_t n_stacks;	  /* those after it came with later profiles: 0 here */
};

struct profile_series {
	struct profile all; /* every stack of any of them; its counts mean nothing */
	enum profile_type type;
	struct profile_series_row *rows; /* one for each profile, in the order they came */
	size_t n, room;
};

/*
 * Add a profile, whose counts of series->type are taken: a zeroed series is
 * empty. Stacks are matched by profile_merge(), with its errors, after which
 * the series is good for nothing but profile_series_fini().
 */
int profile_series_add(struct profile_series *series, const struct profile *profile,
		       struct err *err) __must_check;
void profile_series_fini(struct profile_series *series);

/*
 * Make `all` the difference of two profiles that the series holds: a profile
 * of its own, whose stacks keep their place.
 */
int profile_series_difference(struct profile_series *series, const struct profile *before,
			      const struct profile *after, struct err *err) __must_check;

/* Of one stack in one profile. */
double profile_series_value(const struct profile_series *series, size_t profile, size_t stack);
double profile_series_variance(const struct profile_series *series, size_t profile, size_t stack);

/*
 * Is a difference more than sampling makes by itself? doc/heap-format.md has
 * the argument. All p are one-sided: how likely a growth as large as this one,
 * or larger, is while nothing grows.
 */

/* Of all the rows that are called significant at once, with this probability one is wrong. */
#define SIGNIFICANCE_LEVEL 0.01

/* Student's t with `df` degrees of freedom, INFINITY for the normal distribution: P(T >= t). */
double significance_student(double t, double df);

/*
 * Two estimates and their variances. If what they estimate is the same, how
 * likely is it that the second exceeds the first by that much? An upper bound:
 * what both have in common is the same samples, and makes it less likely.
 */
double significance_growth(double before, double var_before, double after, double var_after);

/*
 * Holm's method: which of `n_tested` p-values are significant together? Of
 * them only `n` are given, the others are 1. ERR_FAILED without memory.
 */
int significance_holm(const double *p, size_t n, size_t n_tested, bool *significant,
		      struct err *err) __must_check;

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
/* With fewer, memory that goes up and down can look as if it grew. */
#define PROFILE_LEAKS_ENOUGH 6

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
