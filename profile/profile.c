// SPDX-License-Identifier: Apache-2.0
#include "profile/profile.h"

#include "base/cleanup.h"
#include "base/intern.h"
#include "base/vec.h"
#include "profile/symbols.h"

#include <math.h>
#include <stdlib.h>

void profile_fini(struct profile *profile)
{
	free(profile->mappings);
	free(profile->addresses);
	free(profile->frames);
	free(profile->stacks);
	free(profile->threads);
	profile_symbols_free(profile->symbols);
	intern_free(profile->text);
	*profile = (struct profile){ 0 };
}

bool profile_knows(const struct profile *profile, enum profile_type type)
{
	if (profile->facts.only_alloc_space)
		return type == PROFILE_ALLOC_SPACE;
	return profile->has_alloc || type == PROFILE_INUSE_OBJECTS || type == PROFILE_INUSE_SPACE;
}

enum profile_type profile_default_type(const struct profile *profile)
{
	return profile->facts.only_alloc_space ? PROFILE_ALLOC_SPACE : PROFILE_INUSE_SPACE;
}

void profile_apply_facts(struct profile *profile)
{
	int64_t sample_bytes = profile->facts.sample_bytes;

	if (!profile->facts.only_alloc_space)
		return;
	profile->has_alloc = true;
	profile->period = sample_bytes ? (uint64_t)sample_bytes : 1;
	/* The file has the number of samples in place of the objects. */
	for (size_t i = 0; i < profile->n_stacks; i++) {
		struct profile_stack *s = &profile->stacks[i];
		double bytes = s->sampled[PROFILE_ALLOC_SPACE];

		for (int t = 0; t < PROFILE_TYPES; t++)
			s->value[t] = s->variance[t] = 0;
		s->sampled[PROFILE_INUSE_OBJECTS] = s->sampled[PROFILE_INUSE_SPACE] = 0;
		s->value[PROFILE_ALLOC_SPACE] = bytes;
		s->variance[PROFILE_ALLOC_SPACE] = fabs(bytes) * (double)sample_bytes;
	}
}

double profile_total(const struct profile *profile, enum profile_type type)
{
	double total = 0;

	for (size_t i = 0; i < profile->n_stacks; i++)
		total += profile->stacks[i].value[type];
	return total;
}

/* --- threads --- */

static int by_id(const void *a, const void *b)
{
	const struct profile_thread *const *x = a, *const *y = b;

	return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

int threads_sort(struct profile *p, struct err *err)
{
	_cleanup_(cleanup_free) const struct profile_thread **order =
		calloc(p->n_threads + 1, sizeof(void *));
	_cleanup_(cleanup_free) uint32_t *moved = calloc(p->n_threads + 1, sizeof(*moved));
	_cleanup_(cleanup_free) struct profile_thread *sorted =
		calloc(p->n_threads + 1, sizeof(*sorted));

	if (!order || !moved || !sorted)
		return err_no_memory(err);
	for (size_t i = 0; i < p->n_threads; i++)
		order[i] = &p->threads[i];
	vec_sort(order, p->n_threads, by_id);
	for (size_t i = 0; i < p->n_threads; i++) {
		sorted[i] = *order[i];
		moved[order[i] - p->threads] = (uint32_t)i;
	}
	for (size_t i = 0; i < p->n_stacks; i++) {
		if (p->stacks[i].thread != PROFILE_NONE)
			p->stacks[i].thread = moved[p->stacks[i].thread];
	}
	free(p->threads);
	p->threads = take_ptr(sorted);
	return 0;
}

/* --- the calls of a stack --- */

void profile_stack_start(const struct profile *profile, const struct profile_stack *stack,
			 bool keep_allocator, uint32_t *frame, uint32_t *line)
{
	const struct profile_symbols *symbols = profile->symbols;

	*frame = 0;
	*line = 0;
	for (uint32_t i = stack->depth; i-- > 0 && !keep_allocator;) {
		uint32_t address = profile->frames[stack->first + i];
		const struct profile_location *at = &symbols->locations[address];

		for (uint32_t j = at->n; j-- > 0;) {
			if (!symbols->functions[symbols->lines[at->first + j].function].allocator)
				continue;
			*frame = j + 1 == at->n ? i + 1 : i;
			*line = j + 1 == at->n ? 0 : j + 1;
			return;
		}
	}
}

size_t profile_stack_lines(const struct profile *profile, const struct profile_stack *stack,
			   bool keep_allocator, struct profile_line *lines, size_t max)
{
	const struct profile_symbols *symbols = profile->symbols;
	uint32_t frame, line;
	size_t n = 0;

	profile_stack_start(profile, stack, keep_allocator, &frame, &line);
	for (; frame < stack->depth; frame++, line = 0) {
		uint32_t address = profile->frames[stack->first + frame];
		const struct profile_location *at = &symbols->locations[address];

		for (; line < at->n && n < max; line++)
			lines[n++] = symbols->lines[at->first + line];
	}
	return n;
}
