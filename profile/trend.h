// SPDX-License-Identifier: Apache-2.0
/*
 * The growth rate of one row of a table over a series of profiles, and whether it exceeds sampling
 * noise and the row's own fluctuations. doc/leaks.md has the argument.
 */
#ifndef PROFILE_TREND_H
#define PROFILE_TREND_H

#include <stdbool.h>
#include <stddef.h>

/* When the profiles were taken. The caller keeps `seconds`. */
struct trend_times {
	const double *seconds; /* ascending */
	size_t n;
	double mean, squares; /* of a least-squares fit, whose slope is the sum of weight * value */
	double step_min;      /* minimum distance that profiles count as apart */
};

/* `n` is at least 2. */
void trend_times_init(struct trend_times *times, const double *seconds, size_t n);

/* Bytes at each of these times, and their sampling variances. */
struct trend_curve {
	const struct trend_times *times;
	double *value, *variance;
};

/* How all stacks move: how much more than by sampling, and how well that is known. */
struct trend_movement {
	double dispersion; /* at least 1 */
	double df;	   /* degrees of freedom */
};

struct trend {
	double rate, rate_error; /* bytes per second, and an upper bound of its standard error */
	double df;		 /* degrees of freedom of the error */
	double first, last;	 /* bytes in the first profile and in the last */
	double p;		 /* probability of such growth by chance: an upper bound */
	bool goes_on;		 /* growth did not slow down much in the second half */
};

void trend_fit(const struct trend_curve *curve, const struct trend_movement *movement,
	       struct trend *out);

/*
 * The square of the growth, divided by its sampling variance, for a curve that fell; else -1. By
 * sampling alone, these follow the chi-square distribution with one degree of freedom, or are
 * smaller.
 */
double trend_fall(const struct trend_curve *curve);

/* How all stacks move, by `n` results of trend_fall() in `falls`, with room for TREND_CALM more. */
#define TREND_CALM 4
struct trend_movement trend_movement_of(double *falls, size_t n);

/* The rate is within +- this margin with a probability of at least 1 - SIGNIFICANCE_LEVEL. */
double trend_margin(const struct trend *trend);

#endif
