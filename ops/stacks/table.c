// SPDX-License-Identifier: Apache-2.0
#include "ops/stacks/table.h"

#include "base/vec.h"

#include <inttypes.h>
#include <string.h>

struct key {
	const struct stack_table *t;
	const uint64_t *addrs;
	size_t depth;
};

static bool is_equal(const void *ctx, uint32_t value)
{
	const struct key *k = ctx;
	const struct stack *s = &k->t->v[value];

	return s->depth == k->depth &&
	       !memcmp(k->t->addrs + s->first, k->addrs, k->depth * sizeof(*k->addrs));
}

int stack_table_find(struct stack_table *t, const uint64_t *addrs, size_t depth, uint32_t *number,
		     struct err *err)
{
	struct key key = { t, addrs, depth };
	uint64_t hash;

	for (;;) {
		hash = hashmap_hash(addrs, key.depth * sizeof(*addrs), 0);
		*number = hashmap_find(&t->by_stack, hash, is_equal, &key);
		if (*number != HASHMAP_NONE)
			return 0;
		if (key.depth <= 1 ||
		    (t->n < STACKS_MAX && t->n_addrs + key.depth <= STACK_ADDRS_MAX))
			break;
		t->shortened++;
		key.depth = 1;
	}
	*number = (uint32_t)t->n;
	if (t->n >= HASHMAP_NONE || !vec_grow(t->v, t->room, t->n) ||
	    !vec_room(t->addrs, t->room_addrs, t->n_addrs, key.depth) ||
	    !hashmap_add(&t->by_stack, hash, (uint32_t)t->n))
		return err_no_memory(err);
	memcpy(t->addrs + t->n_addrs, addrs, key.depth * sizeof(*addrs));
	t->v[t->n++] = (struct stack){ .first = t->n_addrs, .depth = key.depth };
	t->n_addrs += key.depth;
	return 0;
}

void stack_table_print(const struct stack_table *t, uint32_t number, FILE *out)
{
	const struct stack *s = &t->v[number];

	fputc('@', out);
	for (size_t k = 0; k < s->depth; k++)
		fprintf(out, " 0x%" PRIx64, t->addrs[s->first + k]);
	fputc('\n', out);
}

void stack_table_fini(struct stack_table *t)
{
	free(t->v);
	free(t->addrs);
	hashmap_fini(&t->by_stack);
	*t = (struct stack_table){ 0 };
}
