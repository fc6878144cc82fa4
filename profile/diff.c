// SPDX-License-Identifier: Apache-2.0

#include "profile/diff.h"

#include "base/cleanup.h"
#include "profile/leaks.h"
#include "profile/profile.h"
#include "profile/symbols.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct err *err)
{
	return err_no_memory(err);
}

static double growth(const struct profile_change *c)
{
	return c->after - c->before;
}

double profile_change_error(const struct profile_change *c)
{
	return sqrt(c->var_before + c->var_after);
}

/* Either way: twice as likely as one of them. */
static double probability(const struct profile_change *c)
{
	double p = c->after > c->before
			   ? significance_growth(c->before, c->var_before, c->after, c->var_after)
			   : significance_growth(c->after, c->var_after, c->before, c->var_before);

	return fmin(1, 2 * p);
}

/* What did not change, or as much, by what it holds: the order says something then too. */
static int largest_first(const void *a, const void *b)
{
	const struct profile_change *x = a, *y = b;
	double p = fabs(growth(x)), q = fabs(growth(y));

	if (p != q)
		return p > q ? -1 : 1;
	if (x->after != y->after)
		return x->after > y->after ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Test and sort what was collected. */
static int conclude(struct profile_diff *d, struct err *err)
{
	_cleanup_(cleanup_free) double *p = calloc(d->n + 1, sizeof(*p));
	_cleanup_(cleanup_free) bool *significant = calloc(d->n + 1, sizeof(*significant));

	if (!p || !significant)
		return no_memory(err);
	for (size_t i = 0; i < d->n; i++)
		p[i] = d->v[i].p = probability(&d->v[i]);
	if (significance_holm(p, d->n, d->n, significant, err))
		return -1;
	for (size_t i = 0; i < d->n; i++) {
		d->v[i].significant = significant[i];
		d->n_significant += significant[i];
	}
	qsort(d->v, d->n, sizeof(*d->v), largest_first);
	return 0;
}

static struct profile_change change_of(const struct profile_series *s, size_t stack)
{
	return (struct profile_change){
		.at = stack,
		.before = profile_series_value(s, 0, stack),
		.after = profile_series_value(s, 1, stack),
		.var_before = profile_series_variance(s, 0, stack),
		.var_after = profile_series_variance(s, 1, stack),
	};
}

static bool is_there(const struct profile_change *c)
{
	return c->before != 0 || c->after != 0;
}

int profile_diff_stacks(const struct profile_series *series, struct profile_diff *out,
			struct err *err)
{
	_cleanup_(profile_diff_fini) struct profile_diff diff = { 0 };

	diff.v = calloc(series->all.n_stacks + 1, sizeof(*diff.v));
	if (!diff.v)
		return no_memory(err);
	for (size_t i = 0; i < series->all.n_stacks; i++) {
		struct profile_change c = change_of(series, i);

		if (is_there(&c))
			diff.v[diff.n++] = c;
	}
	if (conclude(&diff, err))
		return -1;
	*out = diff;
	diff = (struct profile_diff){ 0 };
	return 0;
}

/* --- functions --- */

static int by_name(const void *a, const void *b, void *functions)
{
	const struct profile_function *f = functions;

	return strcmp(f[((const struct profile_change *)a)->at].name,
		      f[((const struct profile_change *)b)->at].name);
}

/* Rows of one name lie together: each becomes one. A name may be that of several functions. */
static void add_up(struct profile_diff *d, const struct profile_function *functions)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++) {
		struct profile_change *to = n ? &d->v[n - 1] : NULL;
		const struct profile_change *c = &d->v[i];

		if (!to || strcmp(functions[to->at].name, functions[c->at].name) != 0) {
			d->v[n++] = *c;
			continue;
		}
		to->before += c->before;
		to->after += c->after;
		to->var_before += c->var_before;
		to->var_after += c->var_after;
	}
	d->n = n;
}

int profile_diff_functions(const struct profile_series *series, struct profile_diff *out,
			   struct err *err)
{
	_cleanup_(profile_diff_fini) struct profile_diff diff = { 0 };
	const struct profile *all = &series->all;

	diff.v = calloc(all->n_stacks + 1, sizeof(*diff.v));
	if (!diff.v)
		return no_memory(err);
	for (size_t i = 0; i < all->n_stacks; i++) {
		struct profile_change c = change_of(series, i);
		struct profile_line innermost;

		if (!is_there(&c) ||
		    !profile_stack_lines(all, &all->stacks[i], false, &innermost, 1))
			continue;
		c.at = innermost.function;
		diff.v[diff.n++] = c;
	}
	qsort_r(diff.v, diff.n, sizeof(*diff.v), by_name, all->symbols->functions);
	add_up(&diff, all->symbols->functions);
	if (conclude(&diff, err))
		return -1;
	*out = diff;
	diff = (struct profile_diff){ 0 };
	return 0;
}

void profile_diff_fini(struct profile_diff *diff)
{
	free(diff->v);
	*diff = (struct profile_diff){ 0 };
}
