// SPDX-License-Identifier: Apache-2.0
#include "profile/bound.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "profile/symbols.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct bounding {
	struct profile *p;
	enum profile_type type;
	uint32_t *order; /* stacks that count anything */
	size_t n;
	bool *keep; /* of each stack */
};

static void close_bounding(struct bounding *b)
{
	free(b->order);
	free(b->keep);
}

/* Ties keep their order. */
static int largest_first(const void *a, const void *b, void *ctx)
{
	const struct bounding *of = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	double x = fabs(of->p->stacks[i].value[of->type]);
	double y = fabs(of->p->stacks[j].value[of->type]);

	if (x != y)
		return x > y ? -1 : 1;
	return (i > j) - (i < j);
}

/* Room for one more of everything, before anything is changed. */
static bool make_room(struct profile *p)
{
	struct profile_symbols *s = p->symbols;

#define ROOM(v, n)                                                              \
	({                                                                      \
		__typeof__(v) bigger_ = reallocarray(v, (n) + 1, sizeof(*(v))); \
		(v) = bigger_ ? bigger_ : (v);                                  \
		bigger_ != NULL && (n) < PROFILE_NONE;                          \
	})
	return ROOM(p->addresses, p->n_addresses) && ROOM(p->frames, p->n_frames) &&
	       ROOM(p->stacks, p->n_stacks) && ROOM(s->functions, s->n_functions) &&
	       ROOM(s->lines, s->n_lines) && ROOM(s->locations, s->n_locations);
#undef ROOM
}

/* A stack of one call at no address. */
static struct profile_stack make_other(struct profile *p)
{
	struct profile_symbols *s = p->symbols;
	struct profile_stack other = { .first = p->n_frames, .depth = 1, .thread = PROFILE_NONE };

	s->locations[s->n_locations++] =
		(struct profile_location){ .first = (uint32_t)s->n_lines, .n = 1 };
	s->lines[s->n_lines++] = (struct profile_line){ .function = (uint32_t)s->n_functions };
	s->functions[s->n_functions++] = (struct profile_function){
		.name = PROFILE_BOUND_OTHER,
		.linkage = PROFILE_BOUND_OTHER,
		.known = true,
	};
	p->frames[p->n_frames++] = (uint32_t)p->n_addresses;
	p->addresses[p->n_addresses++] = (struct profile_address){ .mapping = PROFILE_NONE };
	return other;
}

int profile_bound(struct profile *p, size_t max, enum profile_type type, struct err *err)
{
	_cleanup_(close_bounding) struct bounding b = { .p = p, .type = type };
	struct profile_stack other;
	size_t n = 0;

	if (!max || p->n_stacks <= max)
		return 0;
	b.order = calloc(p->n_stacks, sizeof(*b.order));
	b.keep = calloc(p->n_stacks, sizeof(*b.keep));
	if (!b.order || !b.keep)
		return err_no_memory(err);
	for (size_t i = 0; i < p->n_stacks; i++) {
		bool counts = false;

		for (int t = 0; t < PROFILE_TYPES; t++)
			counts |= p->stacks[i].value[t] != 0;
		if (counts)
			b.order[b.n++] = (uint32_t)i;
	}
	if (b.n <= max)
		return 0;
	if (!make_room(p))
		return err_no_memory(err);
	vec_sort_with(b.order, b.n, largest_first, &b);
	for (size_t i = 0; i + 1 < max; i++)
		b.keep[b.order[i]] = true;
	other = make_other(p);
	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct profile_stack *s = &p->stacks[i];

		if (b.keep[i]) {
			p->stacks[n++] = *s;
			continue;
		}
		for (int t = 0; t < PROFILE_TYPES; t++) {
			other.value[t] += s->value[t];
			other.sampled[t] += s->sampled[t];
			other.variance[t] += s->variance[t];
		}
	}
	p->stacks[n++] = other;
	p->n_stacks = n;
	return 0;
}
