// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks.h"

#include "base/cleanup.h"
#include "profile/significance.h"

#include <math.h>
#include <stdlib.h>

/* Growth that is over by the end is none: at least this part of its rate must be left. */
#define GOES_ON 0.5
#define FEW 2
/* So many falls, as sampling makes them, count beside those there are: one or two are no rule. */
#define CALM 4
/* A quarter of what sampling makes is more: the chi-square distribution, one degree of freedom. */
#define QUARTILE 0.75
#define CHI2_QUARTILE 1.3233037

/* The times, as the weights of a least squares fit: its slope is the sum of weight * value. */
struct times {
	const double *seconds;
	size_t n;
	double mean, squares;
	double half; /* the weights of the second half together */
};

/* How all stacks move: how much more than sampling makes them, and how well that is known. */
struct movement {
	double dispersion; /* at least 1 */
	double df;	   /* degrees of freedom; INFINITY when it is 1 */
};

static const struct movement no_movement = { 1, INFINITY };

/* Of one stack: what was counted at each of these times. */
struct curve {
	const struct profile_series *series;
	const struct times *times;
	size_t stack;
	const struct movement *movement;
};

static double value(const struct curve *c, size_t i)
{
	return profile_series_value(c->series, i, c->stack);
}

static double variance(const struct curve *c, size_t i)
{
	return c->movement->dispersion * profile_series_variance(c->series, i, c->stack);
}

static double weight(const struct times *t, size_t i)
{
	return (t->seconds[i] - t->mean) / t->squares;
}

static void times_init(struct times *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->mean += t->seconds[i] / (double)t->n;
	for (size_t i = 0; i < t->n; i++)
		t->squares += (t->seconds[i] - t->mean) * (t->seconds[i] - t->mean);
	for (size_t i = 0; i < t->n; i++)
		t->half += fmax(weight(t, i), 0);
}

/* The slope through the profiles from `first` to `last` alone. */
static double slope(const struct curve *c, size_t first, size_t last)
{
	struct times part = { .seconds = c->times->seconds + first, .n = last - first + 1 };
	double sum = 0;

	times_init(&part);
	if (part.squares <= 0)
		return 0;
	for (size_t i = 0; i < part.n; i++)
		sum += weight(&part, i) * value(c, first + i);
	return sum;
}

/*
 * How far the values scatter around the line, beyond what sampling accounts
 * for. Few values may happen to lie well: the fewer, the more is added.
 */
static double excess(const struct curve *c, double rate)
{
	const struct times *t = c->times;
	double mean = 0, sampling = 0, scatter = 0, df = (double)t->n - 2;

	for (size_t i = 0; i < t->n; i++) {
		mean += value(c, i) / (double)t->n;
		sampling += variance(c, i) / (double)t->n;
	}
	for (size_t i = 0; i < t->n; i++) {
		double off = value(c, i) - mean - rate * (t->seconds[i] - t->mean);

		scatter += off * off / df;
	}
	return fmax(scatter * (1 + FEW / df) - sampling, 0);
}

/*
 * An upper bound of the slope's variance. Samples live through several
 * profiles: how long, nobody knows. A sample that is in the profiles from a to b adds
 * (w_a + ... + w_b)^2 times its own variance; no such sum exceeds `half`, and all
 * of them together are at most the sum of |w_i| times what is in profile i.
 */
static double bound(const struct curve *c, double more)
{
	double sum = 0;

	for (size_t i = 0; i < c->times->n; i++)
		sum += fabs(weight(c->times, i)) * (variance(c, i) + more);
	return c->times->half * sum;
}

/* Counts are few and not normal: the two ends, compared exactly, must tell of growth as well. */
static double ends(const struct curve *c)
{
	size_t last = c->times->n - 1;

	return significance_growth(value(c, 0), variance(c, 0), value(c, last), variance(c, last));
}

static double probability(const struct curve *c, double rate, double *error)
{
	double more = excess(c, rate), sampling = bound(c, 0), all = bound(c, more);
	double from_scatter = all - sampling, df = INFINITY;

	*error = sqrt(all);
	if (rate <= 0)
		return 1;
	/* Welch and Satterthwaite: the scatter is known from few values, the sampling exactly. */
	if (from_scatter > 0)
		df = (double)(c->times->n - 2) * (all / from_scatter) * (all / from_scatter);
	df = fmin(df, c->movement->df);
	return fmax(all > 0 ? significance_student(rate / *error, df) : 0, ends(c));
}

/* Upwards or downwards: the second half as the first. */
static bool goes_on(const struct curve *c)
{
	size_t middle = c->times->n / 2;
	double way = slope(c, 0, c->times->n - 1) < 0 ? -1 : 1;

	return way * slope(c, middle, c->times->n - 1) >= GOES_ON * way * slope(c, 0, middle);
}

static bool is_there(const struct curve *c)
{
	for (size_t i = 0; i < c->times->n; i++) {
		if (value(c, i) != 0)
			return true;
	}
	return false;
}

static int by_rate(const void *a, const void *b)
{
	const struct profile_leak *x = a, *y = b;

	if (x->leaks != y->leaks)
		return x->leaks ? -1 : 1;
	if (x->rate != y->rate)
		return x->rate > y->rate ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* --- how far from sampling alone --- */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Whatever makes stacks grow that do not leak makes others fall: how much more than sampling alone
 * makes of it, by the upper quartile of those that do so steadily? (Of the mean, a single cache
 * that is emptied would hide every leak.)
 */
static int find_movement(const struct profile_series *series, const struct times *t,
			 struct movement *out, struct err *err)
{
	size_t n = CALM;
	_cleanup_(cleanup_free) double *falls = calloc(series->all.n_stacks + CALM, sizeof(*falls));
	double upper;

	if (!falls)
		return err_set(err, ERR_FAILED, "no memory to look for leaks");
	for (size_t i = 0; i < CALM; i++)
		falls[i] = CHI2_QUARTILE;
	for (size_t i = 0; i < series->all.n_stacks; i++) {
		struct curve c = { series, t, i, &no_movement };
		double rate = slope(&c, 0, t->n - 1), sampling = bound(&c, 0);

		if (rate < 0 && sampling > 0 && goes_on(&c))
			falls[n++] = rate * rate / sampling;
	}
	qsort(falls, n, sizeof(*falls), by_size);
	upper = falls[(size_t)(QUARTILE * (double)n)];
	*out = upper > CHI2_QUARTILE ? (struct movement){ upper / CHI2_QUARTILE, (double)n }
				     : no_movement;
	return 0;
}

/* Which of those that grow are significant, if all that were tested count. */
static int decide(struct profile_leaks *l, struct err *err)
{
	_cleanup_(cleanup_free) double *p = calloc(l->n + 1, sizeof(*p));
	_cleanup_(cleanup_free) bool *significant = calloc(l->n + 1, sizeof(*significant));

	if (!p || !significant)
		return err_set(err, ERR_FAILED, "no memory to look for leaks");
	for (size_t i = 0; i < l->n; i++)
		p[i] = l->v[i].p;
	if (significance_holm(p, l->n, l->n_tested, significant, err))
		return -1;
	for (size_t i = 0; i < l->n; i++) {
		l->v[i].leaks &= significant[i];
		l->n_leaks += l->v[i].leaks;
	}
	return 0;
}

static int fit_all(const struct profile_series *series, const struct times *t,
		   struct profile_leaks *l, struct err *err)
{
	struct movement movement;

	l->v = calloc(series->all.n_stacks + 1, sizeof(*l->v));
	if (!l->v)
		return err_set(err, ERR_FAILED, "no memory to look for leaks");
	if (find_movement(series, t, &movement, err))
		return -1;
	l->dispersion = movement.dispersion;
	for (size_t i = 0; i < series->all.n_stacks; i++) {
		struct curve c = { series, t, i, &movement };
		struct profile_leak leak = { .stack = i };

		if (!is_there(&c))
			continue;
		l->n_tested++;
		leak.rate = slope(&c, 0, t->n - 1);
		leak.p = probability(&c, leak.rate, &leak.rate_error);
		leak.first = value(&c, 0);
		leak.last = value(&c, t->n - 1);
		if (leak.rate <= 0)
			continue;
		leak.leaks = goes_on(&c);
		l->v[l->n++] = leak;
	}
	if (decide(l, err))
		return -1;
	qsort(l->v, l->n, sizeof(*l->v), by_rate);
	return 0;
}

int profile_leaks_find(const struct profile_series *series, const double *seconds,
		       struct profile_leaks *out, struct err *err)
{
	_cleanup_(profile_leaks_fini) struct profile_leaks leaks = { 0 };
	struct times t = { .seconds = seconds, .n = series->n };

	if (series->n < PROFILE_LEAKS_MIN)
		return err_set(err, ERR_FAILED,
			       "growth over time needs at least %d profiles of different times",
			       PROFILE_LEAKS_MIN);
	times_init(&t);
	if (t.squares <= 0 || seconds[0] >= seconds[series->n - 1])
		return err_set(err, ERR_FAILED, "no time lies between these profiles");
	leaks.seconds = seconds[series->n - 1] - seconds[0];
	if (fit_all(series, &t, &leaks, err))
		return -1;
	*out = leaks;
	leaks = (struct profile_leaks){ 0 };
	return 0;
}

void profile_leaks_fini(struct profile_leaks *leaks)
{
	free(leaks->v);
	*leaks = (struct profile_leaks){ 0 };
}
