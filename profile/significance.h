// SPDX-License-Identifier: Apache-2.0
/*
 * Is a difference more than sampling noise? doc/heap-format.md has the argument. All p are
 * one-sided: the probability of growth at least as large as this if nothing grows.
 */
#ifndef PROFILE_SIGNIFICANCE_H
#define PROFILE_SIGNIFICANCE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* The probability that any of the rows reported as significant together is wrong. */
#define SIGNIFICANCE_LEVEL 0.01

/* Student's t with `df` degrees of freedom, INFINITY for the normal distribution: P(T >= t). */
double significance_student(double t, double df);

/* The t that is exceeded with the probability `p`, below one half. */
double significance_student_at(double p, double df);

/*
 * Of two estimates with variances: the probability that the second exceeds the first by that much
 * if both estimate the same quantity. An upper bound: samples that both share make it less likely.
 */
double significance_growth(double before, double var_before, double after, double var_after);

/*
 * Holm's method: which of `n_tested` p-values are significant together? Those not among the `n`
 * given count as 1; if `n` is larger than `n_tested`, rows that were not tested are given as 1.
 * ERR_FAILED without memory.
 */
int significance_holm(const double *p, size_t n, size_t n_tested, bool *significant,
		      struct err *err) __must_check;

#endif
