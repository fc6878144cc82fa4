// SPDX-License-Identifier: Apache-2.0
#include "base/vec.h"
#include "profile/parse.h"

#include <math.h>

/* jemalloc records 128 calls by default; a file may not make us hold millions for one stack. */
#define DEPTH_MAX 4096

bool parse_counts(struct span *s, struct parse_counts *c)
{
	struct span got = *s;

	if (!reader_number(&got, &c->n[PROFILE_INUSE_OBJECTS]) || !reader_text(&got, ":") ||
	    !reader_blank(&got) || !reader_number(&got, &c->n[PROFILE_INUSE_SPACE]) ||
	    !reader_blank(&got) || !reader_text(&got, "[") || !reader_blank(&got) ||
	    !reader_number(&got, &c->n[PROFILE_ALLOC_OBJECTS]) || !reader_text(&got, ":") ||
	    !reader_blank(&got) || !reader_number(&got, &c->n[PROFILE_ALLOC_SPACE]) ||
	    !reader_text(&got, "]"))
		return false;
	*s = got;
	return true;
}

/* The index of an address, which is added when it is new; PROFILE_NONE without memory. */
static uint32_t intern_address(struct parse *ps, uint64_t pc)
{
	struct profile *p = ps->p;
	uint32_t found = index_find(&ps->addresses, pc);

	if (found != INDEX_NONE)
		return found;
	if (p->n_addresses == PROFILE_NONE ||
	    !vec_grow(p->addresses, ps->addresses_room, p->n_addresses) ||
	    !index_add(&ps->addresses, pc, (uint32_t)p->n_addresses))
		return PROFILE_NONE;
	p->addresses[p->n_addresses] = (struct profile_address){ pc, PROFILE_NONE };
	return (uint32_t)p->n_addresses++;
}

int parse_frames(struct parse *ps, struct span *s, uint64_t *first, uint32_t *depth,
		 struct err *err)
{
	struct profile *p = ps->p;
	uint32_t n = 0, address;
	uint64_t pc;

	*first = p->n_frames;
	for (; reader_blank(s) && s->at < s->end; n++) {
		if (!reader_hex(s, &pc) || (s->at < s->end && *s->at != ' '))
			return reader_fail(&ps->file, "not an address", err);
		if (n == DEPTH_MAX)
			return reader_fail(&ps->file, "more than 4096 calls in one stack", err);
		address = intern_address(ps, pc);
		if (address == PROFILE_NONE || !vec_grow(p->frames, ps->frames_room, p->n_frames))
			return err_set(err, ERR_FAILED, PARSE_NO_MEMORY);
		p->frames[p->n_frames++] = address;
	}
	*depth = n;
	return 0;
}

/*
 * The variance of the bytes that one object of X bytes adds to an estimate, in
 * squares of the period, is h(x) = x^2 / (exp(x) - 1) with x = X / period. Of
 * objects of several sizes only the average is known; the smallest function
 * that is not below h and bends to one side alone, at that average, is not
 * below the average of theirs (Jensen's inequality). It is h up to its highest
 * point, and goes on straight.
 */
#define H_TOP_AT 1.593624260040040
#define H_TOP 0.647610237891915

static double spread(double objects, double x)
{
	if (x > H_TOP_AT && objects > 1)
		return H_TOP;
	return x * x / expm1(x);
}

/*
 * What jeprof(1) does: an object of X bytes is sampled with the probability
 * 1 - exp(-X / period), and X is the average of the stack. The number of objects that n
 * samples stand for has the variance n * (1 - probability) / probability^2.
 */
static bool scale(const struct parse *ps, struct profile_stack *stack, unsigned int objects,
		  unsigned int space)
{
	double n = stack->sampled[objects], bytes = stack->sampled[space], factor = 1;
	double period = (double)ps->p->period;

	if (ps->sampled && n != 0) {
		factor = 1 / (1 - exp(-(bytes / n / period)));
		if (!isfinite(factor))
			return false;
		stack->variance[objects] = n * factor * (factor - 1);
		stack->variance[space] =
			n * factor * period * period * spread(n, bytes / n / period);
	}
	stack->value[objects] = n * factor;
	stack->value[space] = bytes * factor;
	return isfinite(stack->value[objects]) && isfinite(stack->value[space]);
}

int parse_stack(struct parse *ps, uint64_t first, uint32_t depth, uint32_t thread,
		const struct parse_counts *c, struct err *err)
{
	struct profile *p = ps->p;
	struct profile_stack stack = { .first = first, .depth = depth, .thread = thread };

	for (int i = 0; i < PROFILE_TYPES; i++)
		stack.sampled[i] = (double)c->n[i];
	if (!scale(ps, &stack, PROFILE_INUSE_OBJECTS, PROFILE_INUSE_SPACE) ||
	    !scale(ps, &stack, PROFILE_ALLOC_OBJECTS, PROFILE_ALLOC_SPACE))
		return reader_fail(&ps->file, "objects of no size", err);
	if (!vec_grow(p->stacks, ps->stacks_room, p->n_stacks))
		return err_set(err, ERR_FAILED, PARSE_NO_MEMORY);
	p->stacks[p->n_stacks++] = stack;
	if (c->n[PROFILE_ALLOC_OBJECTS] || c->n[PROFILE_ALLOC_SPACE])
		p->has_alloc = true;
	return 0;
}

uint32_t parse_thread(struct parse *ps, uint64_t id)
{
	struct profile *p = ps->p;
	uint32_t found = index_find(&ps->threads, id);

	if (found != INDEX_NONE)
		return found;
	if (p->n_threads == PROFILE_NONE || !vec_grow(p->threads, ps->threads_room, p->n_threads) ||
	    !index_add(&ps->threads, id, (uint32_t)p->n_threads))
		return PROFILE_NONE;
	p->threads[p->n_threads] = (struct profile_thread){ .id = id, .name = "" };
	return (uint32_t)p->n_threads++;
}
