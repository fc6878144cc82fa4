// SPDX-License-Identifier: Apache-2.0

#include "profile/diff.h"

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/significance.h"
#include "profile/symbols.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double growth(const struct profile_change *c)
{
	return c->after - c->before;
}

double profile_change_error(const struct profile_change *c)
{
	return sqrt(c->var_before + c->var_after);
}

/* Two-sided: twice the one-sided probability. */
static double probability(const struct profile_change *c)
{
	double p = c->after > c->before
			   ? significance_growth(c->before, c->var_before, c->after, c->var_after)
			   : significance_growth(c->after, c->var_after, c->before, c->var_before);

	return fmin(1, 2 * p);
}

/* Ties go by what they hold. */
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

static void sort(struct profile_diff *d)
{
	vec_sort(d->v, d->n, largest_first);
}

/* The change of a stack. */
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

/* Drop rows that did not change. */
static void drop_unchanged(struct profile_diff *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++) {
		if (growth(&d->v[i]) != 0)
			d->v[n++] = d->v[i];
	}
	d->n = n;
}

static void add(struct profile_change *to, const struct profile_change *c)
{
	to->before += c->before;
	to->after += c->after;
	to->var_before += c->var_before;
	to->var_after += c->var_after;
}

/* Join stacks with the same calls, such as one call site through two allocators. */
static int find_stacks(const struct profile_series *series, struct profile_diff *out,
		       struct err *err)
{
	_cleanup_(hashmap_fini) struct hashmap by_calls = { 0 };
	_cleanup_(cleanup_free) struct profile_line *lines =
		calloc(PROFILE_DEPTH_MAX, sizeof(*lines));

	out->v = calloc(series->all.n_stacks + 1, sizeof(*out->v));
	if (!out->v || !lines)
		return err_no_memory(err);
	for (size_t i = 0; i < series->all.n_stacks; i++) {
		struct profile_change c = change_of(series, i);
		size_t n = profile_stack_lines(&series->all, &series->all.stacks[i], false, lines,
					       PROFILE_DEPTH_MAX);
		/* 64 keyed bits: collisions can be ruled out, even malicious ones. */
		uint64_t hash = hashmap_hash(lines, n * sizeof(*lines), 0);
		uint32_t at = hashmap_find(&by_calls, hash, NULL, NULL);

		if (!is_there(&c))
			continue;
		if (at != HASHMAP_NONE)
			add(&out->v[at], &c);
		else if (!hashmap_add(&by_calls, hash, (uint32_t)out->n))
			return err_no_memory(err);
		else
			out->v[out->n++] = c;
	}
	return 0;
}

/* --- functions --- */

static int by_name(const void *a, const void *b, void *functions)
{
	const struct profile_function *f = functions;

	return strcmp(f[((const struct profile_change *)a)->at].name,
		      f[((const struct profile_change *)b)->at].name);
}

/* As change_of(), for the innermost function of stack number `stack`; false: it has no call. */
static bool change_of_function(const struct profile_series *s, size_t stack,
			       struct profile_change *out)
{
	struct profile_line innermost;

	if (!profile_stack_lines(&s->all, &s->all.stacks[stack], false, &innermost, 1))
		return false;
	*out = change_of(s, stack);
	out->at = innermost.function;
	return true;
}

/* One row for each name, sorted by name. */
static int find_functions(const struct profile_series *series, struct profile_diff *out,
			  struct err *err)
{
	const struct profile *all = &series->all;
	struct profile_function *functions = all->symbols->functions;
	size_t n = 0;

	out->v = calloc(all->n_stacks + 1, sizeof(*out->v));
	if (!out->v)
		return err_no_memory(err);
	for (size_t i = 0; i < all->n_stacks; i++) {
		struct profile_change *c = &out->v[out->n];

		if (change_of_function(series, i, c) && is_there(c))
			out->n++;
	}
	vec_sort_with(out->v, out->n, by_name, functions);
	/* Several functions may have one name. */
	for (size_t i = 0; i < out->n; i++) {
		struct profile_change *to = n ? &out->v[n - 1] : NULL;
		const struct profile_change *c = &out->v[i];

		if (!to || strcmp(functions[to->at].name, functions[c->at].name) != 0)
			out->v[n++] = *c;
		else
			add(to, c);
	}
	out->n = n;
	return 0;
}

/* --- significance --- */

static void mark(struct profile_diff *d, const bool *significant)
{
	for (size_t i = 0; i < d->n; i++)
		d->v[i].significant = significant[i];
}

/* Test all rows of both together, so that the level holds for all marked rows at once. */
static int test(struct profile_diff *stacks, struct profile_diff *functions, size_t n_tested,
		struct err *err)
{
	size_t n = stacks->n + functions->n;
	_cleanup_(cleanup_free) double *p = calloc(n + 1, sizeof(*p));
	_cleanup_(cleanup_free) bool *significant = calloc(n + 1, sizeof(*significant));

	if (!p || !significant)
		return err_no_memory(err);
	for (size_t i = 0; i < stacks->n; i++)
		p[i] = stacks->v[i].p = probability(&stacks->v[i]);
	for (size_t i = 0; i < functions->n; i++)
		p[stacks->n + i] = functions->v[i].p = probability(&functions->v[i]);
	if (significance_holm(p, n, n_tested, significant, err))
		return -1;
	mark(stacks, significant);
	mark(functions, significant + stacks->n);
	return 0;
}

/* The row with the name of `c`, in rows sorted by name; NULL: none. */
static struct profile_change *find_name(const struct profile_diff *d,
					const struct profile_change *c,
					struct profile_function *functions)
{
	size_t low = 0, high = d->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = by_name(c, &d->v[middle], functions);

		if (!order)
			return &d->v[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static void count_significant(struct profile_diff *d)
{
	for (size_t i = 0; i < d->n; i++)
		d->n_significant += d->v[i].significant;
}

int profile_diff(const struct profile_series *series, struct profile_diff *functions,
		 struct profile_diff *stacks, struct err *err)
{
	_cleanup_(profile_diff_fini) struct profile_diff f = { 0 }, s = { 0 };
	size_t n_tested;

	if (find_stacks(series, &s, err) || find_functions(series, &f, err))
		return -1;
	n_tested = s.n + f.n;
	drop_unchanged(&s);
	drop_unchanged(&f);
	if (test(&s, &f, n_tested, err))
		return -1;
	/*
	 * A function with a changed stack has changed, too: it is marked if both changes have the
	 * same sign, even if the change of one stack is not significant among all its stacks.
	 */
	for (size_t i = 0; i < s.n; i++) {
		struct profile_change c, *of;

		if (!s.v[i].significant || !change_of_function(series, s.v[i].at, &c))
			continue;
		of = find_name(&f, &c, series->all.symbols->functions);
		if (of && (growth(of) > 0) == (growth(&s.v[i]) > 0))
			of->significant = true;
	}
	count_significant(&s);
	count_significant(&f);
	sort(&s);
	sort(&f);
	*functions = f;
	*stacks = s;
	f = s = (struct profile_diff){ 0 };
	return 0;
}

void profile_diff_fini(struct profile_diff *diff)
{
	free(diff->v);
	*diff = (struct profile_diff){ 0 };
}
