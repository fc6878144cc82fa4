// SPDX-License-Identifier: Apache-2.0
#include "ops/stacks/tally.h"

#include "base/vec.h"

#include <inttypes.h>
#include <string.h>

struct key {
	const struct stack_tally *t;
	const uint64_t *addrs;
	size_t depth;
};

static bool is_equal(const void *ctx, uint32_t value)
{
	const struct key *k = ctx;
	const struct stack_sum *s = &k->t->v[value];

	return s->depth == k->depth &&
	       !memcmp(k->t->addrs + s->first, k->addrs, k->depth * sizeof(*k->addrs));
}

static struct stack_sum *add_stack(struct stack_tally *t, const struct key *k, uint64_t hash)
{
	if (t->n >= HASHMAP_NONE || !vec_grow(t->v, t->room, t->n) ||
	    !vec_room(t->addrs, t->room_addrs, t->n_addrs, k->depth) ||
	    !hashmap_add(&t->by_stack, hash, (uint32_t)t->n))
		return NULL;
	memcpy(t->addrs + t->n_addrs, k->addrs, k->depth * sizeof(*k->addrs));
	t->v[t->n] = (struct stack_sum){ .first = t->n_addrs, .depth = k->depth };
	t->n_addrs += k->depth;
	return &t->v[t->n++];
}

static bool is_full(const struct stack_tally *t, size_t depth)
{
	return t->n >= STACKS_MAX || t->n_addrs + depth > STACK_ADDRS_MAX;
}

/* The place of a stack that may be new; NULL without memory, or if it is and there is no room. */
static struct stack_sum *find_stack(struct stack_tally *t, const uint64_t *addrs, size_t depth,
				    bool any)
{
	const struct key key = { t, addrs, depth };
	uint64_t hash = hashmap_hash(addrs, depth * sizeof(*addrs), 0);
	uint32_t at = hashmap_find(&t->by_stack, hash, is_equal, &key);

	if (at != HASHMAP_NONE)
		return &t->v[at];
	return any || !is_full(t, depth) ? add_stack(t, &key, hash) : NULL;
}

int stack_tally_add(struct stack_tally *t, const uint64_t *addrs, size_t depth, unsigned int kind,
		    uint64_t bytes, struct err *err)
{
	struct stack_sum *s = find_stack(t, addrs, depth, false);

	if (!s && is_full(t, depth)) {
		t->shortened++;
		s = find_stack(t, addrs, 1, true);
	}
	if (!s)
		return err_no_memory(err);
	s->samples++;
	s->bytes[kind] += bytes;
	t->samples++;
	t->bytes[kind] += bytes;
	return 0;
}

/* Sampled bytes times these are the totals. Returns the sum of what stacks will have. */
static double find_scales(const struct stack_tally *t, const uint64_t totals[STACK_KINDS],
			  double scale[STACK_KINDS])
{
	double all = 0, sampled = 0;

	for (unsigned int k = 0; k < STACK_KINDS; k++) {
		all += (double)totals[k];
		sampled += t->bytes[k] ? (double)totals[k] : 0;
	}
	for (unsigned int k = 0; k < STACK_KINDS; k++) {
		if (t->bytes[k] && sampled > 0)
			scale[k] = (double)totals[k] / (double)t->bytes[k] * (all / sampled);
	}
	return sampled > 0 ? all : 0;
}

void stack_tally_write(const struct stack_tally *t, const uint64_t totals[STACK_KINDS], FILE *out)
{
	double scale[STACK_KINDS] = { 0 }, all = find_scales(t, totals, scale);

	fprintf(out, "heap_v2/1\n  t*: 0: 0 [%" PRIu64 ": %.0f]\n", t->samples, all);
	for (size_t i = 0; i < t->n; i++) {
		const struct stack_sum *s = &t->v[i];
		double bytes = 0;

		for (unsigned int k = 0; k < STACK_KINDS; k++)
			bytes += (double)s->bytes[k] * scale[k];
		fputc('@', out);
		for (size_t k = 0; k < s->depth; k++)
			fprintf(out, " 0x%" PRIx64, t->addrs[s->first + k]);
		fprintf(out, "\n  t*: 0: 0 [%" PRIu64 ": %.0f]\n", s->samples, bytes);
	}
}

void stack_tally_fini(struct stack_tally *t)
{
	free(t->v);
	free(t->addrs);
	hashmap_fini(&t->by_stack);
	*t = (struct stack_tally){ 0 };
}
