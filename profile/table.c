// SPDX-License-Identifier: Apache-2.0

#include "profile/table.h"

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/symbols.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct building {
	struct profile_table *table;
	const struct profile_stack *stack;
	enum profile_type type;
	uint32_t *row;	/* of each function: its place in table->rows + 1, 0 if none */
	uint32_t *seen; /* of each row: the last stack that counted for it + 1 */
	size_t rows_room, seen_room;
	uint32_t round;		 /* the number of the stack + 1 */
	struct hashmap by_calls; /* of table->stacks */
	size_t stacks_room;
};

static void close_building(struct building *b)
{
	free(b->row);
	free(b->seen);
	hashmap_fini(&b->by_calls);
}

void profile_table_fini(struct profile_table *table)
{
	free(table->rows);
	free(table->stacks);
	*table = (struct profile_table){ 0 };
}

static bool add_row(struct building *b, uint32_t function, bool innermost)
{
	struct profile_table *g = b->table;
	struct profile_row *row;
	uint32_t *seen;

	if (!b->row[function]) {
		if (!vec_grow(g->rows, b->rows_room, g->n_rows) ||
		    !vec_grow(b->seen, b->seen_room, g->n_rows))
			return false;
		g->rows[g->n_rows] = (struct profile_row){ .function = function };
		b->seen[g->n_rows] = 0;
		b->row[function] = (uint32_t)++g->n_rows;
	}
	row = &g->rows[b->row[function] - 1];
	seen = &b->seen[b->row[function] - 1];
	if (innermost) {
		row->flat += b->stack->value[b->type];
		row->flat_variance += b->stack->variance[b->type];
	}
	if (*seen != b->round) {
		row->cum += b->stack->value[b->type];
		row->cum_variance += b->stack->variance[b->type];
		*seen = b->round;
	}
	return true;
}

/*
 * Hashes have 64 keyed bits: collisions can be ruled out, even malicious ones, so that lines need
 * not be compared.
 */
static bool add_to_stacks(struct building *b, const struct profile_line *lines, size_t n)
{
	struct profile_table *g = b->table;
	struct profile_table_stack *s;
	/* Grouped functions have no lines (profile/regroup.h): these are only functions. */
	uint64_t hash = hashmap_hash(lines, n * sizeof(*lines), 0);
	uint32_t at = hashmap_find(&b->by_calls, hash, NULL, NULL);

	if (at == HASHMAP_NONE) {
		at = (uint32_t)g->n_different;
		if (!vec_grow(g->stacks, b->stacks_room, g->n_different) ||
		    !hashmap_add(&b->by_calls, hash, at))
			return false;
		g->stacks[g->n_different++] = (struct profile_table_stack){
			.stack = b->round - 1,
		};
	}
	s = &g->stacks[at];
	s->value += b->stack->value[b->type];
	s->variance += b->stack->variance[b->type];
	return true;
}

int profile_table_init(struct profile_table *out, const struct profile *profile,
		       enum profile_type type, bool stacks, struct err *err)
{
	_cleanup_(profile_table_fini) struct profile_table got = { 0 };
	_cleanup_(close_building) struct building b = { .table = &got, .type = type };
	_cleanup_(cleanup_free) struct profile_line *lines =
		calloc(PROFILE_DEPTH_MAX, sizeof(*lines));

	b.row = calloc(profile->symbols->n_functions + 1, sizeof(*b.row));
	if (!b.row || !lines)
		return err_no_memory(err);
	for (size_t i = 0; i < profile->n_stacks; i++) {
		size_t n;

		b.stack = &profile->stacks[i];
		b.round = (uint32_t)i + 1;
		n = profile_stack_lines(profile, b.stack, true, lines, PROFILE_DEPTH_MAX);
		if (!n)
			continue;
		if (stacks && !add_to_stacks(&b, lines, n))
			return err_no_memory(err);
		got.total += b.stack->value[type];
		got.variance += b.stack->variance[type];
		got.whole += fabs(b.stack->value[type]);
		got.n_stacks += b.stack->value[type] != 0;
		for (size_t j = 0; j < n; j++) {
			if (!add_row(&b, lines[j].function, j == 0))
				return err_no_memory(err);
		}
	}
	if (!profile->difference)
		got.whole = got.total;
	*out = got;
	got = (struct profile_table){ 0 };
	return 0;
}

/* --- sorting --- */

struct order {
	const struct profile_symbols *symbols;
	struct profile_table_order of;
};

static int by_value(const struct order *o, double a, double b)
{
	double x = o->of.by_sign ? a : fabs(a), y = o->of.by_sign ? b : fabs(b);

	if (x != y)
		return x > y ? -1 : 1;
	return a > b ? -1 : a < b;
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct profile_row *x = a, *y = b;
	const struct order *o = ctx;
	int c = o->of.by_cum ? by_value(o, x->cum, y->cum) : by_value(o, x->flat, y->flat);

	if (!c && !o->of.by_sign)
		c = by_value(o, x->cum, y->cum);
	return c ? c
		 : strcmp(o->symbols->functions[x->function].name,
			  o->symbols->functions[y->function].name);
}

void profile_table_sort(struct profile_table *table, const struct profile_symbols *symbols,
			struct profile_table_order order)
{
	struct order o = { symbols, order };

	vec_sort_with(table->rows, table->n_rows, compare_rows, &o);
}

static int heavier_first(const void *left, const void *right)
{
	const struct profile_table_stack *a = left, *b = right;
	double x = fabs(a->value), y = fabs(b->value);

	if (x != y)
		return x > y ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

size_t profile_table_top(struct profile_table *table, size_t n)
{
	struct profile_table_stack *v = table->stacks;
	size_t found = 0;

	for (size_t i = 0; i < table->n_different; i++)
		if (v[i].value != 0)
			v[found++] = v[i];
	table->n_different = found;
	if (!n || n > found)
		n = found;
	if (!found)
		return 0;
	if (n * n > found) {
		vec_sort(v, found, heavier_first);
		return n;
	}
	/* Few of many: insert each one among the first `n`, if it belongs there. */
	vec_sort(v, n, heavier_first);
	for (size_t i = n; i < found; i++) {
		struct profile_table_stack s = v[i];
		size_t at = n;

		if (heavier_first(&s, &v[n - 1]) > 0)
			continue;
		v[i] = v[n - 1];
		while (--at && heavier_first(&s, &v[at - 1]) < 0)
			v[at] = v[at - 1];
		v[at] = s;
	}
	return n;
}

void profile_table_trim(struct profile_table *table, double fraction)
{
	double least = fraction * fabs(table->whole);
	size_t n = 0;

	for (size_t i = 0; i < table->n_rows; i++) {
		const struct profile_row *row = &table->rows[i];

		if (fabs(row->cum) >= least && (row->flat != 0 || row->cum != 0))
			table->rows[n++] = table->rows[i];
	}
	table->n_rows = n;
}
