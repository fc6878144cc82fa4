// SPDX-License-Identifier: Apache-2.0
/* The parts that threads have in a stack. */
#include "profile/parse.h"

/* The stack of all threads together among those from `from` on; NULL unless there is just one. */
static struct profile_stack *find_whole(struct profile *p, size_t from)
{
	struct profile_stack *whole = NULL;

	for (size_t i = from; i < p->n_stacks; i++) {
		if (p->stacks[i].thread != PROFILE_NONE)
			continue;
		if (whole)
			return NULL;
		whole = &p->stacks[i];
	}
	return whole;
}

/* What no thread has: 0 in an honest profile. False when the threads have more than there is. */
static bool find_rest(const struct profile *p, size_t from, const struct profile_stack *whole,
		      double *rest)
{
	for (int t = 0; t < PROFILE_TYPES; t++) {
		rest[t] = 2 * whole->sampled[t];
		for (size_t i = from; i < p->n_stacks; i++)
			rest[t] -= p->stacks[i].sampled[t];
		if (rest[t] < 0)
			return false;
	}
	return true;
}

/* Make `stack` the part of `whole` that was sampled in it. */
static void set_part(struct profile_stack *stack, const struct profile_stack *whole,
		     const double *sampled)
{
	for (int t = 0; t < PROFILE_TYPES; t++) {
		double part = whole->sampled[t] > 0 ? sampled[t] / whole->sampled[t] : 0;

		stack->sampled[t] = sampled[t];
		stack->value[t] = whole->value[t] * part;
		stack->variance[t] = whole->variance[t] * part;
	}
}

static bool is_nothing(const struct profile_stack *stack)
{
	for (int t = 0; t < PROFILE_TYPES; t++)
		if (stack->sampled[t] > 0)
			return false;
	return true;
}

/* Drop the stacks from `from` on that are of a thread, or not of one and empty. */
static void drop(struct profile *p, size_t from, bool threads)
{
	size_t kept = from;

	for (size_t i = from; i < p->n_stacks; i++) {
		bool of_thread = p->stacks[i].thread != PROFILE_NONE;

		if (threads ? !of_thread : of_thread || !is_nothing(&p->stacks[i]))
			p->stacks[kept++] = p->stacks[i];
	}
	p->n_stacks = kept;
}

void parse_split(struct parse *ps, size_t from)
{
	struct profile *p = ps->p;
	struct profile_stack *at = find_whole(p, from), whole;
	double rest[PROFILE_TYPES];

	if (!at || !find_rest(p, from, at, rest)) {
		drop(p, from, true);
		return;
	}
	whole = *at;
	for (size_t i = from; i < p->n_stacks; i++) {
		struct profile_stack *stack = &p->stacks[i];

		set_part(stack, &whole, stack == at ? rest : stack->sampled);
	}
	drop(p, from, false);
}
