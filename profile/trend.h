// SPDX-License-Identifier: Apache-2.0
/*
 * The growth of one row of a table over a series of profiles, as a rate, and whether it is more
 * than sampling and the row's own ups and downs make. doc/leaks.md has the argument.
 */
#ifndef PROFILE_TREND_H
#define PROFILE_TREND_H

#include <stdbool.h>
#include <stddef.h>

/* When the profiles were taken. The caller keeps `seconds`. */
struct trend_times {
	const double *seconds; /* ascending */
	size_t n;
	double mean, squares; /* of a least squares fit, whose slope is the sum of weight * value */
	double step_min;      /* profiles nearer to each other count as so far apart */
};

/* `n` is 2 or more. */
void trend_times_init(struct trend_times *times, const double *seconds, size_t n);

/* Bytes at each of these times, and the variance that sampling gives them. */
struct trend_curve {
	const struct trend_times *times;
	double *value, *variance;
};

/* How all stacks move: how much more than sampling makes them, and how well that is known. */
struct trend_movement {
	double dispersion; /* at least 1 */
	double df;	   /* degrees of freedom */
};

struct trend {
	double rate, rate_error; /* bytes per second, and the standard error of it, at most */
	double df;		 /* degrees of freedom of the error */
	double first, last;	 /* bytes in the first profile and in the last */
	double p;		 /* that such growth comes of nothing: an upper bound */
	bool goes_on;		 /* it has not become much slower in the second half */
};

void trend_fit(const struct trend_curve *curve, const struct trend_movement *movement,
	       struct trend *out);

/*
 * The square of the growth by what sampling makes of it, for a curve that fell; else
 * -1. Where there is nothing but sampling, these have the chi-square distribution with one degree
 * of freedom, or are smaller.
 */
double trend_fall(const struct trend_curve *curve);

/* How all stacks move, by `falls`: room for TREND_CALM more than the `n` that trend_fall() gave. */
#define TREND_CALM 4
struct trend_movement trend_movement_of(double *falls, size_t n);

/* The rate lies within +- so much with the probability 1 - SIGNIFICANCE_LEVEL, or a larger one. */
double trend_margin(const struct trend *trend);

#endif
