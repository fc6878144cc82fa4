// SPDX-License-Identifier: Apache-2.0
#include "ops/stacks/tally.h"

#include "base/vec.h"

#include <inttypes.h>

int stack_tally_add(struct stack_tally *t, const uint64_t *addrs, size_t depth, unsigned int kind,
		    uint64_t bytes, struct err *err)
{
	size_t n = t->stacks.n;
	uint32_t number;

	if (stack_table_find(&t->stacks, addrs, depth, &number, err))
		return -1;
	if (number == n) {
		if (!vec_grow(t->v, t->room, n))
			return err_no_memory(err);
		t->v[n] = (struct stack_sum){ 0 };
	}
	t->v[number].samples++;
	t->v[number].bytes[kind] += bytes;
	t->samples++;
	t->bytes[kind] += bytes;
	return 0;
}

void stack_tally_write(const struct stack_tally *t, const uint64_t totals[STACK_KINDS], FILE *out)
{
	double scale[STACK_KINDS] = { 0 }, all = 0, sampled = 0;

	for (unsigned int k = 0; k < STACK_KINDS; k++) {
		all += (double)totals[k];
		sampled += t->bytes[k] ? (double)totals[k] : 0;
	}
	/* Sampled bytes times these give the totals. */
	for (unsigned int k = 0; k < STACK_KINDS; k++) {
		if (t->bytes[k] && sampled > 0)
			scale[k] = (double)totals[k] / (double)t->bytes[k] * (all / sampled);
	}
	if (sampled <= 0)
		all = 0;
	fprintf(out, "heap_v2/1\n  t*: 0: 0 [%" PRIu64 ": %.0f]\n", t->samples, all);
	for (uint32_t i = 0; i < t->stacks.n; i++) {
		const struct stack_sum *s = &t->v[i];
		double bytes = 0;

		for (unsigned int k = 0; k < STACK_KINDS; k++)
			bytes += (double)s->bytes[k] * scale[k];
		stack_table_print(&t->stacks, i, out);
		fprintf(out, "  t*: 0: 0 [%" PRIu64 ": %.0f]\n", s->samples, bytes);
	}
}

void stack_tally_fini(struct stack_tally *t)
{
	free(t->v);
	stack_table_fini(&t->stacks);
	*t = (struct stack_tally){ 0 };
}
