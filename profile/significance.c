// SPDX-License-Identifier: Apache-2.0

#include "profile/significance.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>

#define BETA_STEPS 300
#define BETA_PRECISION 1e-12
#define BETA_TINY 1e-300
#define STUDENT_MAX 1e9
#define STUDENT_STEPS 60

/* The continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22). */
static double beta_fraction(double x, double a, double b)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), value;

	d = 1 / (fabs(d) < BETA_TINY ? BETA_TINY : d);
	value = d;
	for (int m = 1; m <= BETA_STEPS; m++) {
		for (int odd = 0; odd < 2; odd++) {
			double up =
				odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
				    : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));

			d = 1 + up * d;
			d = 1 / (fabs(d) < BETA_TINY ? BETA_TINY : d);
			c = 1 + up / c;
			c = fabs(c) < BETA_TINY ? BETA_TINY : c;
			value *= c * d;
		}
		if (fabs(c * d - 1) < BETA_PRECISION)
			break;
	}
	return value;
}

/* The regularized incomplete beta function I_x(a, b). */
static double beta(double x, double a, double b)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double significance_student(double t, double df)
{
	double tail;

	if (!isfinite(df) || df > 1e6)
		return erfc(t / sqrt(2)) / 2;
	tail = beta(df / (df + t * t), df / 2, 0.5) / 2;
	return t > 0 ? tail : 1 - tail;
}

/* By bisection, as it is needed for a few rows only. */
double significance_student_at(double p, double df)
{
	double low = 0, high = 1;

	while (significance_student(high, df) > p && high < STUDENT_MAX)
		high *= 2;
	for (int i = 0; i < STUDENT_STEPS; i++) {
		double middle = (low + high) / 2;

		if (significance_student(middle, df) > p)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* The number of equally weighted samples that give an estimate of this size and variance. */
static double samples(double value, double unit)
{
	return value > 0 ? value / unit : 0;
}

double significance_growth(double before, double var_before, double after, double var_after)
{
	double variance = var_before + var_after, unit, normal, exact;

	if (after <= before)
		return 1;
	if (variance <= 0)
		return 0; /* nothing was sampled */
	normal = significance_student((after - before) / sqrt(variance), INFINITY);
	unit = variance / (before + after);
	/* P(at least m of n + m samples are in the second dump), if both are equally likely. */
	exact = beta(0.5, samples(after, unit), samples(before, unit) + 1);
	return fmax(normal, exact);
}

static int smaller_first(const void *a, const void *b, void *p)
{
	double x = ((const double *)p)[*(const size_t *)a];
	double y = ((const double *)p)[*(const size_t *)b];

	return (x > y) - (x < y);
}

int significance_holm(const double *p, size_t n, size_t n_tested, bool *significant,
		      struct err *err)
{
	_cleanup_(cleanup_free) size_t *order = calloc(n + 1, sizeof(*order));
	size_t i;

	if (!order)
		return err_no_memory(err);
	for (i = 0; i < n; i++) {
		order[i] = i;
		significant[i] = false;
	}
	vec_sort_with(order, n, smaller_first, (void *)p);
	for (i = 0;
	     i < n && i < n_tested && p[order[i]] <= SIGNIFICANCE_LEVEL / (double)(n_tested - i);
	     i++)
		significant[order[i]] = true;
	return 0;
}
