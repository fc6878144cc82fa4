// SPDX-License-Identifier: Apache-2.0

#include "profile/leaks.h"

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "profile/significance.h"
#include "profile/trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A source location with more leaking stacks than these is shown instead of them. */
#define STACKS_OF_A_PLACE 3

/*
 * A tested hypothesis: a set of parts. Parts are the stacks of the series, separated by thread if
 * the profiles record threads.
 */
struct row {
	enum profile_leak_kind kind;
	uint32_t of, line; /* which stack, function or thread */
	uint32_t seen;	   /* last part that was added + 1 */
	size_t first, n;   /* parts[first .. first + n), ascending */
	bool tested;	   /* no better row has the same parts */
	bool leaks;
	struct trend trend;
};

struct membership {
	uint32_t row, part;
};

struct rows {
	const struct profile_series *series;
	const struct trend_times *times;
	struct row *v;
	size_t n, room;
	struct hashmap by_key, by_stack;
	struct membership *members; /* by part */
	size_t n_members, members_room;
	uint32_t *parts; /* by row */
	uint32_t *owner; /* of each part: 1 + the index of the choice that holds it; 0: none */
	struct trend_curve curve;
	size_t n_tested;
};

static void close_rows(struct rows *r)
{
	free(r->v);
	hashmap_fini(&r->by_key);
	hashmap_fini(&r->by_stack);
	free(r->members);
	free(r->parts);
	free(r->owner);
	free(r->curve.value);
	free(r->curve.variance);
}

/* --- which parts are in which rows --- */

struct row_key {
	const struct rows *rows;
	struct {
		uint32_t kind, of, line;
	} is;
};

static bool is_row(const void *ctx, uint32_t i)
{
	const struct row_key *k = ctx;
	const struct row *row = &k->rows->v[i];

	return row->kind == k->is.kind && row->of == k->is.of && row->line == k->is.line;
}

/* Add a part to a row, which is created if necessary. False without memory. */
static bool put(struct rows *r, uint32_t part, enum profile_leak_kind kind, uint32_t of,
		uint32_t line)
{
	const struct row_key k = { r, { kind, of, line } };
	uint64_t hash = hashmap_hash(&k.is, sizeof(k.is), 0);
	uint32_t at = hashmap_find(&r->by_key, hash, is_row, &k);

	if (at == HASHMAP_NONE) {
		at = (uint32_t)r->n;
		if (at == HASHMAP_NONE || !vec_grow(r->v, r->room, r->n) ||
		    !hashmap_add(&r->by_key, hash, at))
			return false;
		r->v[r->n++] = (struct row){ .kind = kind, .of = of, .line = line };
	}
	if (r->v[at].seen == part + 1)
		return true;
	r->v[at].seen = part + 1;
	r->v[at].n++;
	if (!vec_grow(r->members, r->members_room, r->n_members))
		return false;
	r->members[r->n_members++] = (struct membership){ at, part };
	return true;
}

struct stack_key {
	const struct profile *p;
	const struct profile_stack *stack;
};

static bool is_stack(const void *ctx, uint32_t i)
{
	const struct stack_key *k = ctx;
	const struct profile_stack *s = &k->p->stacks[i];

	return s->depth == k->stack->depth &&
	       !memcmp(k->p->frames + s->first, k->p->frames + k->stack->first,
		       s->depth * sizeof(*k->p->frames));
}

/* The first part with the same calls; HASHMAP_NONE without memory. */
static uint32_t first_of_stack(struct rows *r, uint32_t part)
{
	const struct profile *p = &r->series->all;
	const struct stack_key k = { p, &p->stacks[part] };
	uint64_t hash =
		hashmap_hash(p->frames + k.stack->first, k.stack->depth * sizeof(*p->frames), 0);
	uint32_t at = hashmap_find(&r->by_stack, hash, is_stack, &k);

	if (at != HASHMAP_NONE)
		return at;
	return hashmap_add(&r->by_stack, hash, part) ? part : HASHMAP_NONE;
}

/* Callers come innermost first: of those with the same parts, the first is the one to name. */
static bool put_part(struct rows *r, uint32_t part, struct profile_line *lines)
{
	const struct profile *p = &r->series->all;
	const struct profile_stack *stack = &p->stacks[part];
	uint32_t first = first_of_stack(r, part);
	size_t n = 0;

	if (first == HASHMAP_NONE || !put(r, part, PROFILE_LEAK_STACK, first, 0) ||
	    !put(r, part, PROFILE_LEAK_TOTAL, 0, 0))
		return false;
	if (stack->thread != PROFILE_NONE && !put(r, part, PROFILE_LEAK_THREAD, stack->thread, 0))
		return false;
	if (p->symbols)
		n = profile_stack_lines(p, stack, false, lines, PROFILE_DEPTH_MAX);
	if (n &&
	    (!put(r, part, PROFILE_LEAK_FUNCTION, lines[0].function, 0) ||
	     (lines[0].line && !put(r, part, PROFILE_LEAK_LINE, lines[0].function, lines[0].line))))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!put(r, part, PROFILE_LEAK_CALLER, lines[i].function, 0))
			return false;
	}
	return true;
}

static int fill(struct rows *r, struct err *err)
{
	_cleanup_(cleanup_free) struct profile_line *lines =
		calloc(PROFILE_DEPTH_MAX, sizeof(*lines));
	size_t n = r->series->all.n_stacks, profiles = r->series->n, at = 0;

	r->owner = calloc(n + 1, sizeof(*r->owner));
	r->curve = (struct trend_curve){ r->times, calloc(profiles, sizeof(double)),
					 calloc(profiles, sizeof(double)) };
	if (!lines || !r->owner || !r->curve.value || !r->curve.variance)
		return err_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		bool there = false;

		for (size_t k = 0; k < profiles && !there; k++)
			there = profile_series_value(r->series, k, i) != 0;
		if (there && !put_part(r, (uint32_t)i, lines))
			return err_no_memory(err);
	}
	if (!r->n)
		return err_raise(err, ERROR_NOTHING_SAMPLED, .count = (int64_t)profiles);
	/* Convert the rows of each part to the parts of each row. */
	r->parts = calloc(r->n_members + 1, sizeof(*r->parts));
	if (!r->parts)
		return err_no_memory(err);
	for (size_t i = 0; i < r->n; i++) {
		r->v[i].first = at;
		at += r->v[i].n;
		r->v[i].n = 0;
	}
	for (size_t i = 0; i < r->n_members; i++) {
		struct row *row = &r->v[r->members[i].row];

		r->parts[row->first + row->n++] = r->members[i].part;
	}
	return 0;
}

/* --- tests --- */

struct parts_key {
	const struct rows *rows;
	const struct row *row;
};

static bool has_parts(const void *ctx, uint32_t i)
{
	const struct parts_key *k = ctx;
	const struct row *row = &k->rows->v[i];

	return row->n == k->row->n &&
	       !memcmp(k->rows->parts + row->first, k->rows->parts + k->row->first,
		       row->n * sizeof(*k->rows->parts));
}

/* Test the same parts once, by their best name: the process instead of _start. */
static int choose_tested(struct rows *r, struct err *err)
{
	static const enum profile_leak_kind order[] = {
		PROFILE_LEAK_STACK, PROFILE_LEAK_LINE,	 PROFILE_LEAK_FUNCTION,
		PROFILE_LEAK_TOTAL, PROFILE_LEAK_CALLER, PROFILE_LEAK_THREAD,
	};
	_cleanup_(hashmap_fini) struct hashmap known = { 0 };

	for (size_t o = 0; o < sizeof(order) / sizeof(*order); o++)
		for (size_t i = 0; i < r->n; i++) {
			const struct parts_key k = { r, &r->v[i] };
			uint64_t hash;

			if (r->v[i].kind != order[o])
				continue;
			hash = hashmap_hash(r->parts + k.row->first, k.row->n * sizeof(*r->parts),
					    0);
			if (hashmap_find(&known, hash, has_parts, &k) != HASHMAP_NONE)
				continue;
			if (!hashmap_add(&known, hash, (uint32_t)i))
				return err_no_memory(err);
			r->v[i].tested = true;
			r->n_tested++;
		}
	return 0;
}

/* The row's bytes over time: all, or those that no choice holds. */
static const struct trend_curve *curve_of(struct rows *r, const struct row *row, bool rest)
{
	for (size_t i = 0; i < r->series->n; i++) {
		r->curve.value[i] = r->curve.variance[i] = 0;
		for (size_t k = row->first; k < row->first + row->n; k++) {
			if (rest && r->owner[r->parts[k]])
				continue;
			r->curve.value[i] += profile_series_value(r->series, i, r->parts[k]);
			r->curve.variance[i] += profile_series_variance(r->series, i, r->parts[k]);
		}
	}
	return &r->curve;
}

/* Which rows are significant, among all that were tested. */
static int decide(struct rows *r, struct err *err)
{
	_cleanup_(cleanup_free) double *p = calloc(r->n + 1, sizeof(*p));
	_cleanup_(cleanup_free) bool *significant = calloc(r->n + 1, sizeof(*significant));

	if (!p || !significant)
		return err_no_memory(err);
	for (size_t i = 0; i < r->n; i++)
		p[i] = r->v[i].tested ? r->v[i].trend.p : 1;
	if (significance_holm(p, r->n, r->n_tested, significant, err))
		return -1;
	for (size_t i = 0; i < r->n; i++)
		r->v[i].leaks = r->v[i].tested && significant[i] && r->v[i].trend.goes_on;
	return 0;
}

/* --- which of them are shown --- */

/* A leak or a suspect to be shown. */
struct choice {
	struct profile_leak leak;
	size_t counted; /* 1 + the last row that counted it */
	bool dropped;	/* another one is shown instead */
};

struct choices {
	struct rows *rows;
	const struct trend_movement *movement;
	size_t *order; /* of rows */
	struct choice *v;
	size_t n, room;
	double *curves; /* of all choices */
	size_t n_curves, curves_room;
};

static void close_choices(struct choices *c)
{
	free(c->curves);
	free(c->order);
	free(c->v);
}

static int specific_first(const void *a, const void *b, void *rows)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const struct row *p = (const struct row *)rows + x, *q = (const struct row *)rows + y;

	if (p->kind != q->kind)
		return p->kind < q->kind ? -1 : 1;
	if (p->n != q->n)
		return p->n < q->n ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* A stack with half of the growth of its function is more informative than the function. */
static int telling_first(const void *a, const void *b, void *rows)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const struct row *p = (const struct row *)rows + x, *q = (const struct row *)rows + y;
	double u = p->trend.rate * (p->kind == PROFILE_LEAK_STACK ? 2 : 1);
	double v = q->trend.rate * (q->kind == PROFILE_LEAK_STACK ? 2 : 1);

	if (u != v)
		return u > v ? -1 : 1;
	return specific_first(a, b, rows);
}

static size_t count_owned(const struct rows *r, const struct row *row)
{
	size_t n = 0;

	for (size_t k = row->first; k < row->first + row->n; k++)
		n += r->owner[r->parts[k]] != 0;
	return n;
}

/* Number of stacks, regardless of threads; with `rest`, of those that no choice holds. */
static int count_stacks(struct rows *r, const struct row *row, bool rest, size_t *out,
			struct err *err)
{
	_cleanup_(hashmap_fini) struct hashmap seen = { 0 };

	*out = 0;
	for (size_t k = row->first; k < row->first + row->n; k++) {
		uint32_t stack = first_of_stack(r, r->parts[k]);

		if ((rest && r->owner[r->parts[k]]) || hashmap_get(&seen, stack) != HASHMAP_NONE)
			continue;
		if (!hashmap_put(&seen, stack, 0))
			return err_no_memory(err);
		++*out;
	}
	return 0;
}

/* --- in which threads --- */

struct thread_growth {
	const char *name;
	uint32_t thread;
	size_t n;
	double bytes;
};

static int by_thread(const void *a, const void *b)
{
	const struct thread_growth *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->thread > y->thread) - (x->thread < y->thread);
}

static int grown_most_first(const void *a, const void *b)
{
	const struct thread_growth *x = a, *y = b;

	return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : by_thread(a, b);
}

/*
 * Sum up the growth of each thread, and join those that grew by name, into the one that grew most.
 * `v` is sorted by_thread. Returns the number of names.
 */
static size_t join_threads(struct thread_growth *v, size_t n)
{
	size_t used = 0, names = 0;
	double most = 0;

	for (size_t i = 0; i < n; i++) {
		if (used && v[used - 1].thread == v[i].thread)
			v[used - 1].bytes += v[i].bytes;
		else
			v[used++] = v[i];
	}
	for (size_t i = 0; i < used; i++) {
		struct thread_growth *to = names ? &v[names - 1] : NULL;

		if (!(v[i].bytes > 0))
			continue;
		if (!to || !*to->name || strcmp(to->name, v[i].name) != 0) {
			v[names++] = v[i];
			most = v[i].bytes;
			continue;
		}
		to->bytes += v[i].bytes;
		to->n++;
		if (v[i].bytes > most) {
			most = v[i].bytes;
			to->thread = v[i].thread;
		}
	}
	return names;
}

/* Find the threads in which a row grew; with `rest`, the part of it that no choice holds. */
static int find_threads(const struct rows *r, const struct row *row, bool rest,
			struct profile_leak *leak, struct err *err)
{
	_cleanup_(cleanup_free) struct thread_growth *v = calloc(row->n + 1, sizeof(*v));
	const struct profile_series *s = r->series;
	const struct profile *p = &s->all;
	size_t n = 0;
	double sum = 0;

	if (!v)
		return err_no_memory(err);
	for (size_t k = row->first; k < row->first + row->n; k++) {
		uint32_t part = r->parts[k], thread = p->stacks[part].thread;

		if (thread == PROFILE_NONE || (rest && r->owner[part]))
			continue;
		v[n++] = (struct thread_growth){ p->threads[thread].name, thread, 1,
						 profile_series_value(s, s->n - 1, part) -
							 profile_series_value(s, 0, part) };
	}
	vec_sort(v, n, by_thread);
	n = join_threads(v, n);
	vec_sort(v, n, grown_most_first);
	for (size_t i = 0; i < n; i++)
		sum += v[i].bytes;
	leak->n_named = n;
	leak->n_threads = n < PROFILE_LEAK_THREADS ? n : PROFILE_LEAK_THREADS;
	for (size_t i = 0; i < leak->n_threads; i++)
		leak->threads[i] =
			(struct profile_leak_threads){ v[i].thread, v[i].n, v[i].bytes / sum };
	return 0;
}

/* Show a row; with `rest`, the part of it that no choice holds. */
static int choose(struct choices *c, const struct row *row, const struct trend *t, bool rest,
		  struct err *err)
{
	bool named = row->kind == PROFILE_LEAK_LINE || row->kind == PROFILE_LEAK_FUNCTION ||
		     row->kind == PROFILE_LEAK_CALLER;
	double margin = trend_margin(t);
	struct rows *r = c->rows;
	struct profile_leak leak = {
		.kind = row->kind,
		.stack = r->parts[row->first],
		.thread = row->kind == PROFILE_LEAK_THREAD ? row->of : PROFILE_NONE,
		.line = { named ? row->of : PROFILE_NONE, row->line },
		.rest = rest,
		.rate = t->rate,
		.rate_error = t->rate_error,
		.rate_low = t->rate - margin,
		.rate_high = t->rate + margin,
		.first = t->first,
		.last = t->last,
		.p = t->p,
	};

	if (count_stacks(r, row, rest, &leak.n_stacks, err) ||
	    (row->kind != PROFILE_LEAK_THREAD && find_threads(r, row, rest, &leak, err)))
		return -1;
	if (!vec_room(c->curves, c->curves_room, c->n_curves, r->series->n))
		return err_no_memory(err);
	leak.curve = c->n_curves;
	memcpy(c->curves + c->n_curves, curve_of(r, row, rest)->value,
	       r->series->n * sizeof(*c->curves));
	c->n_curves += r->series->n;
	if (!vec_grow(c->v, c->room, c->n))
		return err_no_memory(err);
	c->v[c->n++] = (struct choice){ .leak = leak };
	for (size_t k = row->first; k < row->first + row->n; k++) {
		uint32_t *owner = &r->owner[r->parts[k]];

		*owner = rest && *owner ? *owner : (uint32_t)c->n;
	}
	return 0;
}

/* Count the choices within a source location; with `drop`, do not show them. */
static size_t choices_within(struct choices *c, const struct row *place, bool drop)
{
	size_t id = (size_t)(place - c->rows->v) + 1, n = 0;

	for (size_t k = place->first; k < place->first + place->n; k++) {
		uint32_t owner = c->rows->owner[c->rows->parts[k]];

		if (!owner)
			continue;
		n += c->v[owner - 1].counted != id;
		c->v[owner - 1].counted = id;
		c->v[owner - 1].dropped |= drop;
	}
	return n;
}

/*
 * Handle a significant row, after all more specific ones: show it if more of it grows than they
 * hold. A source location then replaces them, and also if there are many of them.
 */
static int choose_leak(struct choices *c, const struct row *row, struct err *err)
{
	bool place = row->kind == PROFILE_LEAK_LINE || row->kind == PROFILE_LEAK_FUNCTION;
	size_t owned = count_owned(c->rows, row);
	struct trend rest;
	bool more = false;

	if (!owned)
		return choose(c, row, &row->trend, false, err);
	if (owned < row->n) {
		trend_fit(curve_of(c->rows, row, true), c->movement, &rest);
		more = rest.goes_on && rest.p <= SIGNIFICANCE_LEVEL / (double)c->rows->n_tested;
	}
	if (place && (more || choices_within(c, row, false) > STACKS_OF_A_PLACE)) {
		choices_within(c, row, true);
		return choose(c, row, &row->trend, false, err);
	}
	return more ? choose(c, row, &rest, true, err) : 0;
}

/* What grows besides the leaks, each part once. */
static int choose_suspects(struct choices *c, struct err *err)
{
	const struct rows *r = c->rows;
	size_t n = 0, leaks = c->n;

	for (size_t i = 0; i < r->n; i++) {
		const struct row *row = &r->v[i];

		if (row->tested && !row->leaks && row->kind <= PROFILE_LEAK_FUNCTION &&
		    row->trend.rate > 0 && row->trend.p < 1 && row->trend.goes_on)
			c->order[n++] = i;
	}
	vec_sort_with(c->order, n, telling_first, r->v);
	for (size_t i = 0; i < n && c->n - leaks < PROFILE_SUSPECTS_MAX; i++) {
		const struct row *row = &r->v[c->order[i]];

		if (!count_owned(r, row) && choose(c, row, &row->trend, false, err))
			return -1;
	}
	return 0;
}

static int by_rate(const void *a, const void *b)
{
	const struct profile_leak *x = a, *y = b;

	if (x->rate != y->rate)
		return x->rate > y->rate ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* The choices from number `from` on. */
static int take(const struct choices *c, size_t from, struct profile_leak **v, size_t *n,
		struct err *err)
{
	*v = calloc(c->n - from + 1, sizeof(**v));
	if (!*v)
		return err_no_memory(err);
	for (size_t i = from; i < c->n; i++) {
		if (!c->v[i].dropped)
			(*v)[(*n)++] = c->v[i].leak;
	}
	vec_sort(*v, *n, by_rate);
	return 0;
}

static int conclude(struct rows *r, const struct trend_movement *movement,
		    struct profile_leaks *out, struct err *err)
{
	_cleanup_(close_choices) struct choices c = {
		.rows = r,
		.movement = movement,
		.order = calloc(r->n + 1, sizeof(*c.order)),
	};
	size_t leaks, n = 0;

	if (!c.order)
		return err_no_memory(err);
	for (size_t i = 0; i < r->n; i++) {
		if (r->v[i].leaks)
			c.order[n++] = i;
	}
	vec_sort_with(c.order, n, specific_first, r->v);
	for (size_t i = 0; i < n; i++) {
		if (choose_leak(&c, &r->v[c.order[i]], err))
			return -1;
	}
	leaks = c.n;
	if (choose_suspects(&c, err) || take(&c, leaks, &out->suspects, &out->n_suspects, err))
		return -1;
	c.n = leaks;
	out->curves = take_ptr(c.curves);
	return take(&c, 0, &out->leaks, &out->n_leaks, err);
}

int profile_leaks_find(const struct profile_series *series, const double *seconds,
		       struct profile_leaks *out, struct err *err)
{
	_cleanup_(profile_leaks_fini) struct profile_leaks leaks = { 0 };
	struct trend_times times;
	_cleanup_(close_rows) struct rows r = { .series = series, .times = &times };
	struct trend_movement movement;
	_cleanup_(cleanup_free) double *falls = NULL;
	size_t n = 0;

	if (series->n < PROFILE_LEAKS_MIN)
		return err_raise(err, ERROR_TOO_FEW_PROFILES, .limit = PROFILE_LEAKS_MIN);
	trend_times_init(&times, seconds, series->n);
	if (times.squares <= 0 || seconds[0] >= seconds[series->n - 1])
		return err_raise(err, ERROR_NO_TIME_BETWEEN);
	if (fill(&r, err) || choose_tested(&r, err))
		return -1;
	falls = calloc(r.n + TREND_CALM, sizeof(*falls));
	if (!falls)
		return err_no_memory(err);
	for (size_t i = 0; i < r.n; i++) {
		if (r.v[i].kind == PROFILE_LEAK_STACK) {
			falls[n] = trend_fall(curve_of(&r, &r.v[i], false));
			n += falls[n] >= 0;
		}
	}
	movement = trend_movement_of(falls, n);
	for (size_t i = 0; i < r.n; i++) {
		leaks.n_stacks += r.v[i].kind == PROFILE_LEAK_STACK;
		if (r.v[i].tested)
			trend_fit(curve_of(&r, &r.v[i], false), &movement, &r.v[i].trend);
	}
	if (decide(&r, err) || conclude(&r, &movement, &leaks, err))
		return -1;
	leaks.seconds = seconds[series->n - 1] - seconds[0];
	leaks.dispersion = movement.dispersion;
	leaks.n_tested = r.n_tested;
	leaks.p_certain = SIGNIFICANCE_LEVEL / (double)r.n_tested;
	*out = leaks;
	leaks = (struct profile_leaks){ 0 };
	return 0;
}

void profile_leaks_fini(struct profile_leaks *leaks)
{
	free(leaks->leaks);
	free(leaks->suspects);
	free(leaks->curves);
	*leaks = (struct profile_leaks){ 0 };
}
