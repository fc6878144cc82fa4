// SPDX-License-Identifier: Apache-2.0

#include "profile/trend.h"

#include "base/vec.h"
#include "profile/significance.h"

#include <math.h>
#include <stdlib.h>

/* Growth must continue to the end, at this fraction of its rate at least. */
#define GOES_ON 0.5
#define BEYOND 1.645 /* and exceed so many standard errors: 1 in 20 by chance */
/* Exceeded by a quarter of sampling noise: chi-square distribution, one degree of freedom. */
#define QUARTILE 0.75
#define CHI2_QUARTILE 1.3233037
/* The prior that stacks move by sampling noise alone counts as so many stacks. */
#define CALM_DF 24
/* A dispersion below MOVES may be chance. Above it stacks do move, by different amounts. */
#define MOVES 1.5
#define MOVING_DF 14
#define OWN_PART 0.25
#define STEP_MIN 0.25 /* of the mean step */

/* Each row is tested in two ways, of which the better result counts. */
#define TESTS 2

void trend_times_init(struct trend_times *t, const double *seconds, size_t n)
{
	*t = (struct trend_times){ .seconds = seconds, .n = n };
	for (size_t i = 0; i < n; i++)
		t->mean += seconds[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		t->squares += (seconds[i] - t->mean) * (seconds[i] - t->mean);
	t->step_min = STEP_MIN * (seconds[n - 1] - seconds[0]) / (double)(n - 1);
}

/* The slope through the profiles `first` to `last`; *error is that of sampling. */
static double slope(const struct trend_curve *c, size_t first, size_t last, double *error)
{
	struct trend_times part;
	double sum = 0, variance = 0;

	*error = 0;
	trend_times_init(&part, c->times->seconds + first, last - first + 1);
	if (part.squares <= 0)
		return 0;
	for (size_t i = 0; i < part.n; i++) {
		sum += (part.seconds[i] - part.mean) / part.squares * c->value[first + i];
		variance += c->variance[first + i] / (double)part.n;
	}
	*error = sqrt(variance / part.squares);
	return sum;
}

/*
 * Does growth continue in the second half, and exceed chance after the first third, in which
 * something may have filled up?
 */
static bool goes_on(const struct trend_curve *c)
{
	size_t middle = c->times->n / 2, last = c->times->n - 1;
	double error, rate;

	if (!(slope(c, middle, last, &error) >= GOES_ON * slope(c, 0, middle, &error)))
		return false;
	rate = slope(c, c->times->n / 3, last, &error);
	return rate >= BEYOND * error;
}

/* Of last - first, by sampling: an upper bound, as samples in both cancel. */
static double sampling_variance(const struct trend_curve *c)
{
	return c->variance[0] + c->variance[c->times->n - 1];
}

/*
 * The variance of the growth, estimated from the differences among the steps from one profile to
 * the next. In a random walk the steps are independent; if memory fluctuates around a level, or
 * fills up and stays, they differ more than that. It has n - 2 degrees of freedom.
 */
static double by_steps(const struct trend_curve *c)
{
	const double *at = c->times->seconds, *value = c->value;
	size_t n = c->times->n;
	double rate = (value[n - 1] - value[0]) / (at[n - 1] - at[0]), time = 0, scatter = 0;

	for (size_t i = 1; i < n; i++) {
		double step = fmax(at[i] - at[i - 1], c->times->step_min);
		double off = value[i] - value[i - 1] - rate * (at[i] - at[i - 1]);

		time += step;
		scatter += off * off / step;
	}
	return scatter / (double)(n - 2) * time;
}

/* Test the growth against this variance, of which `from_steps` is estimated from the steps. */
static struct trend test(const struct trend_curve *c, double variance, double from_steps,
			 const struct trend_movement *m)
{
	size_t n = c->times->n;
	double time = c->times->seconds[n - 1] - c->times->seconds[0];
	double growth = c->value[n - 1] - c->value[0], df = INFINITY, p;

	/* Welch-Satterthwaite; the sampling variance is known exactly. */
	if (from_steps > 0)
		df = (double)(n - 2) * (variance / from_steps) * (variance / from_steps);
	df = fmin(df, m->df);
	p = growth <= 0 ? 1 : variance > 0 ? significance_student(growth / sqrt(variance), df) : 0;
	/* Small counts are not normally distributed: also compare them exactly. */
	p = fmax(p, significance_growth(c->value[0], m->dispersion * c->variance[0],
					c->value[n - 1], m->dispersion * c->variance[n - 1]));
	return (struct trend){
		.rate = growth / time, .rate_error = sqrt(variance) / time, .df = df, .p = p
	};
}

void trend_fit(const struct trend_curve *c, const struct trend_movement *m, struct trend *out)
{
	static const struct trend_movement none = { 1, INFINITY };
	double sampling = sampling_variance(c), steps = by_steps(c), expected = 0, more;
	struct trend beside_all, by_itself;

	/* The steps' sampling variances: an upper bound, as samples in both cancel. */
	for (size_t i = 1; i < c->times->n; i++)
		expected += c->variance[i - 1] + c->variance[i];
	/* Movement of this row beyond that of sampling and of all stacks. */
	more = fmax(steps - m->dispersion * expected,
		    OWN_PART * (steps - expected) - (m->dispersion - 1) * sampling);
	more = fmax(more, 0);
	beside_all = test(c, m->dispersion * sampling + more, more, m);
	steps = fmax(steps, sampling); /* a few equal steps do not prove regularity */
	by_itself = test(c, steps, steps, &none);

	*out = by_itself.p < beside_all.p ? by_itself : beside_all;
	out->p = fmin(1, TESTS * out->p);
	out->first = c->value[0];
	out->last = c->value[c->times->n - 1];
	out->goes_on = goes_on(c);
}

double trend_margin(const struct trend *t)
{
	/* The error probability is split between two sides and two tests. */
	return t->rate_error * significance_student_at(SIGNIFICANCE_LEVEL / (2 * TESTS), t->df);
}

/* --- all stacks --- */

double trend_fall(const struct trend_curve *c)
{
	double growth = c->value[c->times->n - 1] - c->value[0], sampling = sampling_variance(c);

	return growth < 0 && sampling > 0 ? growth * growth / sampling : -1;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * What makes stacks grow without a leak makes others fall. How much more than sampling noise this
 * is follows from the upper quartile of those that fell. (With the mean, a single cache that is
 * emptied would hide every leak.) TREND_CALM typical falls by sampling are added, as one or two
 * falls are not representative.
 */
struct trend_movement trend_movement_of(double *falls, size_t n)
{
	double upper;

	for (size_t i = 0; i < TREND_CALM; i++)
		falls[n++] = CHI2_QUARTILE;
	vec_sort(falls, n, by_size);
	upper = falls[(size_t)(QUARTILE * (double)n)];
	upper = fmax(upper / CHI2_QUARTILE, 1);
	if (upper < MOVES)
		return (struct trend_movement){ upper, (double)(n + CALM_DF) };
	return (struct trend_movement){ upper, fmin((double)n, MOVING_DF) };
}
