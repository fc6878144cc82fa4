// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks.h"

#include "base/cleanup.h"
#include "base/intern.h"
#include "base/vec.h"
#include "profile/combine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- significance --- */

#define BETA_STEPS 300
#define BETA_PRECISION 1e-12
#define BETA_TINY 1e-300

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

/* How many equally likely samples would have an estimate of this size and variance? */
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
		return 0; /* nothing was left to chance */
	normal = significance_student((after - before) / sqrt(variance), INFINITY);
	unit = variance / (before + after);
	/* Of n + m samples, each in either dump with the same right: at least m in the second. */
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
	qsort_r(order, n, sizeof(*order), smaller_first, (void *)p);
	for (i = 0; i < n && p[order[i]] <= SIGNIFICANCE_LEVEL / (double)(n_tested - i); i++)
		significant[order[i]] = true;
	return 0;
}

/* --- a series of profiles --- */

static int no_memory(struct err *err)
{
	return err_no_memory(err);
}

static void clear_counts(struct profile *p)
{
	for (size_t i = 0; i < p->n_stacks; i++) {
		memset(p->stacks[i].value, 0, sizeof(p->stacks[i].value));
		memset(p->stacks[i].sampled, 0, sizeof(p->stacks[i].sampled));
		memset(p->stacks[i].variance, 0, sizeof(p->stacks[i].variance));
	}
}

static int take_counts(struct profile_series *s, struct err *err)
{
	struct profile_series_row *row = &s->rows[s->n];
	size_t n = s->all.n_stacks;

	*row = (struct profile_series_row){
		.value = malloc((n + 1) * sizeof(*row->value)),
		.variance = malloc((n + 1) * sizeof(*row->variance)),
		.n_stacks = n,
	};
	s->n++; /* what was allocated is freed with the series */
	if (!row->value || !row->variance)
		return no_memory(err);
	for (size_t i = 0; i < n; i++) {
		row->value[i] = s->all.stacks[i].value[s->type];
		row->variance[i] = s->all.stacks[i].variance[s->type];
	}
	return 0;
}

int profile_series_add(struct profile_series *s, const struct profile *profile, struct err *err)
{
	if (!vec_grow(s->rows, s->room, s->n))
		return no_memory(err);
	if (!s->all.text)
		s->all.text = intern_new();
	if (!s->all.text)
		return no_memory(err);
	clear_counts(&s->all);
	if (profile_merge(&s->all, profile, err))
		return -1;
	return take_counts(s, err);
}

int profile_series_difference(struct profile_series *s, const struct profile *before,
			      const struct profile *after, struct err *err)
{
	clear_counts(&s->all);
	if (profile_merge(&s->all, after, err))
		return -1;
	return profile_subtract(&s->all, before, err);
}

void profile_series_fini(struct profile_series *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->rows[i].value);
		free(s->rows[i].variance);
	}
	free(s->rows);
	profile_fini(&s->all);
	*s = (struct profile_series){ 0 };
}

double profile_series_value(const struct profile_series *s, size_t profile, size_t stack)
{
	const struct profile_series_row *row = &s->rows[profile];

	return stack < row->n_stacks ? row->value[stack] : 0;
}

double profile_series_variance(const struct profile_series *s, size_t profile, size_t stack)
{
	const struct profile_series_row *row = &s->rows[profile];

	return stack < row->n_stacks ? row->variance[stack] : 0;
}

/* --- leaks --- */

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
		return err_no_memory(err);
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
		return err_no_memory(err);
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
		return err_no_memory(err);
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
		return err_raise(err, ERROR_TOO_FEW_PROFILES, .limit = PROFILE_LEAKS_MIN);
	times_init(&t);
	if (t.squares <= 0 || seconds[0] >= seconds[series->n - 1])
		return err_raise(err, ERROR_NO_TIME_BETWEEN);
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
