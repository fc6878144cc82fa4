// SPDX-License-Identifier: Apache-2.0

#include "profile/format/html_stacks.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/symbols.h"

#include <stdlib.h>

uint32_t html_path_common(const struct html_path *a, const struct html_path *b)
{
	uint32_t n = 0, most = a->depth < b->depth ? a->depth : b->depth;

	while (n < most && a->frames[n] == b->frames[n])
		n++;
	return n;
}

static int by_frames(const void *left, const void *right)
{
	const struct html_path *a = left, *b = right;
	uint32_t n = html_path_common(a, b);

	if (n < a->depth && n < b->depth)
		return a->frames[n] < b->frames[n] ? -1 : 1;
	return a->depth < b->depth ? -1 : a->depth > b->depth;
}

/* A file may be mapped in several pieces: whoever made the profile keeps its path once. */
static bool find_modules(struct html_stacks *s, const struct profile *p)
{
	_cleanup_(index_fini) struct index paths = { 0 };

	for (size_t i = 0; i < p->n_mappings; i++) {
		uint64_t key = (uint64_t)(uintptr_t)p->mappings[i].path;
		uint32_t module = index_find(&paths, key);

		if (module == INDEX_NONE) {
			module = s->n_modules++;
			s->first[module] = (uint32_t)i;
			if (!index_add(&paths, key, module))
				return false;
		}
		s->module[i] = module;
	}
	return true;
}

/* The frame of a function in a mapping; INDEX_NONE without memory. */
static uint32_t frame_of(struct html_stacks *s, uint32_t function, uint32_t mapping)
{
	uint32_t module = mapping == PROFILE_NONE ? s->n_modules : s->module[mapping];
	uint32_t rank = s->names.rank[function], frame;
	uint64_t key = (uint64_t)rank << 32 | module;

	frame = index_find(&s->keys, key);
	if (frame != INDEX_NONE)
		return frame;
	if (!vec_grow(s->frames, s->room, s->n_frames))
		return INDEX_NONE;
	frame = (uint32_t)s->n_frames;
	if (!index_add(&s->keys, key, frame))
		return INDEX_NONE;
	s->frames[s->n_frames++] = (struct html_frame){ s->names.ranked[rank], module };
	return frame;
}

/* A stack's lines, as many as are left when the allocator's are dropped. */
static size_t count_calls(const struct profile *p, const struct profile_stack *stack)
{
	size_t n = 0;

	for (uint32_t i = 0; i < stack->depth; i++)
		n += p->symbols->locations[p->frames[stack->first + i]].n;
	return n;
}

/* Write the path of a stack to what lies before `end`. False without memory. */
static bool make_path(struct html_stacks *s, const struct profile *p,
		      const struct profile_stack *stack, bool keep_allocator, uint32_t *end)
{
	struct html_path *path = &s->v[s->n++];
	uint32_t *at = end;
	uint32_t frame, line;

	profile_stack_start(p, stack, keep_allocator, &frame, &line);
	for (; frame < stack->depth; frame++, line = 0) {
		uint32_t address = p->frames[stack->first + frame];
		const struct profile_location *lines = &p->symbols->locations[address];

		for (; line < lines->n; line++) {
			*--at = frame_of(s, p->symbols->lines[lines->first + line].function,
					 p->addresses[address].mapping);
			if (*at == INDEX_NONE)
				return false;
		}
	}
	*path = (struct html_path){ at, (uint32_t)(end - at), stack };
	return true;
}

static bool make_paths(struct html_stacks *s, const struct profile *p, bool keep_allocator)
{
	uint32_t *end = s->calls;

	for (size_t i = 0; i < p->n_stacks; i++) {
		end += count_calls(p, &p->stacks[i]);
		if (!make_path(s, p, &p->stacks[i], keep_allocator, end))
			return false;
	}
	qsort(s->v, s->n, sizeof(*s->v), by_frames);
	return true;
}

int html_stacks_init(struct html_stacks *out, const struct profile *profile, bool keep_allocator,
		     struct err *err)
{
	_cleanup_(html_stacks_fini) struct html_stacks s = { 0 };
	size_t n_calls = 0;

	if (profile_names_init(&s.names, profile->symbols, err))
		return -1;
	for (size_t i = 0; i < profile->n_stacks; i++)
		n_calls += count_calls(profile, &profile->stacks[i]);
	s.first = calloc(profile->n_mappings + 1, sizeof(*s.first));
	s.module = calloc(profile->n_mappings + 1, sizeof(*s.module));
	s.calls = calloc(n_calls + 1, sizeof(*s.calls));
	s.v = calloc(profile->n_stacks + 1, sizeof(*s.v));
	if (!s.first || !s.module || !s.calls || !s.v || !find_modules(&s, profile) ||
	    !make_paths(&s, profile, keep_allocator))
		return err_set(err, ERR_FAILED, "no memory for %zu stacks", profile->n_stacks);
	*out = s;
	s = (struct html_stacks){ 0 };
	return 0;
}

void html_stacks_fini(struct html_stacks *stacks)
{
	profile_names_fini(&stacks->names);
	index_fini(&stacks->keys);
	free(stacks->frames);
	free(stacks->v);
	free(stacks->first);
	free(stacks->module);
	free(stacks->calls);
	*stacks = (struct html_stacks){ 0 };
}
