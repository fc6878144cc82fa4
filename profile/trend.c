// SPDX-License-Identifier: Apache-2.0

#include "profile/trend.h"

#include "profile/significance.h"

#include <math.h>
#include <stdlib.h>

/* Growth that is over by the end is none: at least this part of its rate must be left. */
#define GOES_ON 0.5
#define BEYOND 1.645 /* and it is more than so many standard errors: one in 20 by chance */
/* A quarter of what sampling makes is more: the chi-square distribution, one degree of freedom. */
#define QUARTILE 0.75
#define CHI2_QUARTILE 1.3233037
/* That stacks move as sampling makes them is what is expected: it counts as so many of them. */
#define CALM_DF 24
/* A dispersion below MOVES may be chance. Above it stacks move, and differ in how much they do. */
#define MOVES 1.5
#define MOVING_DF 14
#define OWN_PART 0.25
#define STEP_MIN 0.25 /* of the mean step */

/* Each row is tested in two ways, and the better one counts. */
#define TESTS 2

static double weight(const struct trend_times *t, size_t i)
{
	return (t->seconds[i] - t->mean) / t->squares;
}

void trend_times_init(struct trend_times *t, const double *seconds, size_t n)
{
	*t = (struct trend_times){ .seconds = seconds, .n = n };
	for (size_t i = 0; i < n; i++)
		t->mean += seconds[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		t->squares += (seconds[i] - t->mean) * (seconds[i] - t->mean);
	t->step_min = STEP_MIN * (seconds[n - 1] - seconds[0]) / (double)(n - 1);
}

/* The slope through the profiles from `first` to `last` alone; its error is that of sampling. */
static double slope(const struct trend_curve *c, size_t first, size_t last, double *error)
{
	struct trend_times part;
	double sum = 0, variance = 0;

	*error = 0;
	trend_times_init(&part, c->times->seconds + first, last - first + 1);
	if (part.squares <= 0)
		return 0;
	for (size_t i = 0; i < part.n; i++) {
		sum += weight(&part, i) * c->value[first + i];
		variance += c->variance[first + i] / (double)part.n;
	}
	*error = sqrt(variance / part.squares);
	return sum;
}

/* Growth: the second half as the first. */
static bool goes_on(const struct trend_curve *c)
{
	size_t middle = c->times->n / 2;
	double error;

	return slope(c, middle, c->times->n - 1, &error) >= GOES_ON * slope(c, 0, middle, &error);
}

/* Without the first third, in which something may have filled up: does it grow? */
static bool grows_later(const struct trend_curve *c)
{
	double error, rate = slope(c, c->times->n / 3, c->times->n - 1, &error);

	return rate >= BEYOND * error;
}

/* From the first profile to the last, by sampling: at most, as samples that stay drop out. */
static double sampling_variance(const struct trend_curve *c)
{
	return c->variance[0] + c->variance[c->times->n - 1];
}

/*
 * The variance of the growth, by how the steps from one profile to the next differ among
 * themselves: of what wanders about they are independent, and of what goes up and down around a
 * level, or fills up and stays, they differ more than that. It has n - 2 degrees of freedom.
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

/* What sampling makes of the steps all together: at most, as samples that stay drop out. */
static double steps_by_sampling(const struct trend_curve *c)
{
	double sum = 0;

	for (size_t i = 1; i < c->times->n; i++)
		sum += c->variance[i - 1] + c->variance[i];
	return sum;
}

/* Is the growth more than this variance makes, of which a part is known from the steps alone? */
static struct trend test(const struct trend_curve *c, double variance, double from_steps,
			 const struct trend_movement *m)
{
	size_t n = c->times->n;
	double time = c->times->seconds[n - 1] - c->times->seconds[0];
	double growth = c->value[n - 1] - c->value[0], df = INFINITY, p;

	/* Welch and Satterthwaite: what sampling makes is known exactly. */
	if (from_steps > 0)
		df = (double)(n - 2) * (variance / from_steps) * (variance / from_steps);
	df = fmin(df, m->df);
	p = growth <= 0 ? 1 : variance > 0 ? significance_student(growth / sqrt(variance), df) : 0;
	/* Counts are few and not normal: they are compared exactly as well. */
	p = fmax(p, significance_growth(c->value[0], m->dispersion * c->variance[0],
					c->value[n - 1], m->dispersion * c->variance[n - 1]));
	return (struct trend){
		.rate = growth / time, .rate_error = sqrt(variance) / time, .df = df, .p = p
	};
}

void trend_fit(const struct trend_curve *c, const struct trend_movement *m, struct trend *out)
{
	static const struct trend_movement none = { 1, INFINITY };
	double sampling = sampling_variance(c), steps = by_steps(c);
	double expected = steps_by_sampling(c), more;
	struct trend beside_all, by_itself;

	/* What this one moves more than sampling and the movement of all account for. */
	more = fmax(steps - m->dispersion * expected,
		    OWN_PART * (steps - expected) - (m->dispersion - 1) * sampling);
	more = fmax(more, 0);
	beside_all = test(c, m->dispersion * sampling + more, more, m);
	steps = fmax(steps, sampling); /* a few equal steps are no proof of their regularity */
	by_itself = test(c, steps, steps, &none);

	*out = by_itself.p < beside_all.p ? by_itself : beside_all;
	out->p = fmin(1, TESTS * out->p);
	out->first = c->value[0];
	out->last = c->value[c->times->n - 1];
	out->goes_on = goes_on(c) && grows_later(c);
}

double trend_margin(const struct trend *t)
{
	/* Half of what may be wrong on each side, by either test. */
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
 * Whatever makes stacks grow that do not leak makes others fall: how much more than sampling alone
 * makes of it, by the upper quartile of those that fell? (Of the mean, a single cache
 * that is emptied would hide every leak.) So many falls, as sampling makes them, count beside those
 * there are: one or two are no rule.
 */
struct trend_movement trend_movement_of(double *falls, size_t n)
{
	double upper;

	for (size_t i = 0; i < TREND_CALM; i++)
		falls[n++] = CHI2_QUARTILE;
	qsort(falls, n, sizeof(*falls), by_size);
	upper = falls[(size_t)(QUARTILE * (double)n)];
	upper = fmax(upper / CHI2_QUARTILE, 1);
	if (upper < MOVES)
		return (struct trend_movement){ upper, (double)(n + CALM_DF) };
	return (struct trend_movement){ upper, fmin((double)n, MOVING_DF) };
}
