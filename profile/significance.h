// SPDX-License-Identifier: Apache-2.0
/*
 * Is a difference more than sampling makes by itself? doc/heap-format.md has
 * the argument. All p are one-sided: how likely a growth as large as this one,
 * or larger, is while nothing grows.
 */
#ifndef PROFILE_SIGNIFICANCE_H
#define PROFILE_SIGNIFICANCE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Of all the rows that are called significant at once, with this probability one is wrong. */
#define SIGNIFICANCE_LEVEL 0.01

/* Student's t with `df` degrees of freedom, INFINITY for the normal distribution: P(T >= t). */
double significance_student(double t, double df);

/* The t that is exceeded with the probability `p`, which is below one half. */
double significance_student_at(double p, double df);

/*
 * Two estimates and their variances. If what they estimate is the same, how
 * likely is it that the second exceeds the first by that much? An upper bound:
 * what both have in common is the same samples, and makes it less likely.
 */
double significance_growth(double before, double var_before, double after, double var_after);

/*
 * Holm's method: which of `n_tested` p-values are significant together? Those that are not among
 * the `n` given are 1; of more than `n_tested`, what was not tested is given as 1. ERR_FAILED
 * without memory.
 */
int significance_holm(const double *p, size_t n, size_t n_tested, bool *significant,
		      struct err *err) __must_check;

#endif
