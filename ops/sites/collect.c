// SPDX-License-Identifier: Apache-2.0
#include "ops/sites/collect.h"

#include "base/cleanup.h"

_Static_assert((int)SITES_SIZES == STACK_KINDS, "samples are told apart by their size");

static const struct stack_copy *stack_of(const void *sample)
{
	const struct sites_sample *s = sample;

	return s->size < SITES_SIZES ? &s->stack : NULL;
}

/* The innermost address is the beginning of te_event_trigger. */
static int add(void *state, const void *sample, const uint64_t *addrs, size_t depth,
	       struct err *err)
{
	const struct sites_sample *s = sample;

	return stack_tally_add(state, addrs + 1, depth - 1, (unsigned int)s->size, s->bytes, err);
}

static int answer(void *state, struct session *s, struct unpack *question, struct pack *answer,
		  struct err *err)
{
	(void)state, (void)s, (void)question, (void)answer;
	return err_raise(err, ERROR_NO_SUCH_QUESTION);
}

static int write_stacks(void *state, struct unpack *totals, FILE *out, struct pack *answer,
			struct err *err)
{
	const struct stack_tally *tally = state;
	uint64_t allocated[SITES_SIZES];

	(void)err;
	for (int i = 0; i < SITES_SIZES; i++)
		allocated[i] = unpack_u64(totals);
	stack_tally_write(tally, allocated, out);
	pack_u64(answer, tally->samples);
	pack_u64(answer, tally->stacks.n);
	pack_u64(answer, tally->stacks.shortened);
	return 0;
}

static void fini(void *state)
{
	stack_tally_fini(state);
}

const struct collector_kind sites_collector_kind = {
	.what = "add up allocation samples",
	.size = sizeof(struct sites_sample),
	.state_size = sizeof(struct stack_tally),
	.stack = stack_of,
	.add = add,
	.answer = answer,
	.write = write_stacks,
	.fini = fini,
};

int sites_collected(struct collector *c, const struct session *s,
		    const uint64_t allocated[SITES_SIZES], struct collected *out, struct err *err)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct unpack u;

	for (int i = 0; i < SITES_SIZES; i++)
		pack_u64(&p, allocated[i]);
	if (collector_write(c, s, &p, &out->cut, &u, err))
		return -1;
	out->samples = unpack_u64(&u);
	out->stacks = unpack_u64(&u);
	out->cut += unpack_u64(&u);
	return unpack_done(&u) ? 0 : err_raise(err, ERROR_FOUND_MALFORMED, .pid = s->proc.pid);
}
