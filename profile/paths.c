// SPDX-License-Identifier: Apache-2.0

#include "profile/paths.h"

#include "base/cleanup.h"
#include "profile/profile.h"
#include "profile/symbols.h"

#include <stdlib.h>
#include <string.h>

uint32_t profile_path_common(const struct profile_path *a, const struct profile_path *b)
{
	uint32_t n = 0, most = a->depth < b->depth ? a->depth : b->depth;

	while (n < most && a->function[n] == b->function[n])
		n++;
	return n;
}

/* While they are sorted, paths hold the ranks of their functions' names. */
static int by_ranks(const void *left, const void *right)
{
	const struct profile_path *a = left, *b = right;
	uint32_t n = profile_path_common(a, b);

	if (n < a->depth && n < b->depth)
		return a->function[n] < b->function[n] ? -1 : 1;
	return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static void add(struct profile_path *to, const struct profile_path *from)
{
	for (size_t i = 0; i < PROFILE_TYPES; i++) {
		to->value[i] += from->value[i];
		to->variance[i] += from->variance[i];
	}
}

/* Of neighbours that are equal, one. */
static void merge(struct profile_paths *paths)
{
	size_t kept = 0;

	for (size_t i = 0; i < paths->n; i++) {
		if (kept && !by_ranks(&paths->v[kept - 1], &paths->v[i]))
			add(&paths->v[kept - 1], &paths->v[i]);
		else
			paths->v[kept++] = paths->v[i];
	}
	paths->n = kept;
}

/* All stacks' lines, also those that will be dropped. Stacks of several threads share frames. */
static size_t count_lines(const struct profile *profile)
{
	size_t n = 0;

	for (size_t i = 0; i < profile->n_stacks; i++) {
		const uint32_t *frame = profile->frames + profile->stacks[i].first;

		for (uint32_t j = 0; j < profile->stacks[i].depth; j++)
			n += profile->symbols->locations[frame[j]].n;
	}
	return n;
}

/* The stacks as paths of ranks, in the order of the profile. */
static int fill(struct profile_paths *paths, const struct profile *profile,
		const struct profile_names *names, bool keep_allocator, struct err *err)
{
	_cleanup_(cleanup_free) struct profile_line *lines =
		malloc(PROFILE_DEPTH_MAX * sizeof(*lines));
	size_t at = 0;

	if (!lines)
		return err_set(err, ERR_FAILED, "no memory for the stacks");
	for (size_t i = 0; i < profile->n_stacks; i++) {
		const struct profile_stack *stack = &profile->stacks[i];
		struct profile_path *path = &paths->v[i];
		size_t n = profile_stack_lines(profile, stack, keep_allocator, lines,
					       PROFILE_DEPTH_MAX);

		*path = (struct profile_path){ paths->functions + at, (uint32_t)n, { 0 }, { 0 } };
		memcpy(path->value, stack->value, sizeof(path->value));
		memcpy(path->variance, stack->variance, sizeof(path->variance));
		while (n)
			paths->functions[at++] = names->rank[lines[--n].function];
	}
	paths->n = profile->n_stacks;
	return 0;
}

int profile_paths_init(struct profile_paths *out, const struct profile *profile,
		       const struct profile_names *names, bool keep_allocator, struct err *err)
{
	_cleanup_(profile_paths_fini) struct profile_paths paths = { 0 };
	size_t n_lines = count_lines(profile);

	paths.v = calloc(profile->n_stacks + 1, sizeof(*paths.v));
	paths.functions = calloc(n_lines + 1, sizeof(*paths.functions));
	if (!paths.v || !paths.functions)
		return err_set(err, ERR_FAILED, "no memory for %zu stacks", profile->n_stacks);
	if (fill(&paths, profile, names, keep_allocator, err))
		return -1;
	qsort(paths.v, paths.n, sizeof(*paths.v), by_ranks);
	merge(&paths);
	for (size_t i = 0; i < n_lines; i++)
		paths.functions[i] = names->ranked[paths.functions[i]];
	*out = paths;
	paths = (struct profile_paths){ 0 };
	return 0;
}

void profile_paths_fini(struct profile_paths *paths)
{
	free(paths->v);
	free(paths->functions);
	*paths = (struct profile_paths){ 0 };
}
