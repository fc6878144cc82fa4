// SPDX-License-Identifier: Apache-2.0
#include "profile/names.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/symbols.h"

#include <stdlib.h>
#include <string.h>

static const char cut[] = "...";

/* Bytes that safe_name() may write for `raw`. */
static size_t room_for(const char *raw)
{
	size_t room = strnlen(raw, PROFILE_NAME_MAX) * 4 + 1;

	return room < PROFILE_NAME_MAX ? room : PROFILE_NAME_MAX;
}

/* Returns the bytes written to `buf`, including the final 0. */
static size_t safe_name(const char *raw, char *buf)
{
	size_t room = room_for(raw), len;

	if (!*raw)
		raw = "?";
	len = strlen(output_safe(raw, buf, room < 2 ? 2 : room));
	/* An escape is 4 bytes: the text was cut if fewer were left. */
	if (room == PROFILE_NAME_MAX && len + 4 >= room - 1) {
		len = strlen(output_safe(raw, buf, PROFILE_NAME_MAX - sizeof(cut)));
		memcpy(buf + len, cut, sizeof(cut));
		len += sizeof(cut) - 1;
	}
	return len + 1;
}

static int by_name(const void *left, const void *right, void *names)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const char *const *name = names;
	int order = strcmp(name[a], name[b]);

	return order ? order : a < b ? -1 : a > b;
}

int profile_names_init(struct profile_names *out, const struct profile_symbols *symbols,
		       struct err *err)
{
	_cleanup_(profile_names_fini) struct profile_names names = { .n = symbols->n_functions };
	size_t size = 1, at = 0, n = 0;

	for (size_t i = 0; i < names.n; i++)
		size += room_for(symbols->functions[i].name) + 1;
	names.name = calloc(names.n + 1, sizeof(*names.name));
	names.rank = calloc(names.n + 1, sizeof(*names.rank));
	names.ranked = calloc(names.n + 1, sizeof(*names.ranked));
	names.text = malloc(size);
	if (!names.name || !names.rank || !names.ranked || !names.text)
		return err_no_memory(err);
	for (size_t i = 0; i < names.n; i++) {
		names.name[i] = names.text + at;
		at += safe_name(symbols->functions[i].name, names.text + at);
	}
	for (size_t i = 0; i < names.n; i++)
		names.ranked[i] = (uint32_t)i;
	vec_sort_with(names.ranked, names.n, by_name, names.name);
	/* Equal names get one rank, whose function is the first with that name. */
	for (size_t i = 0; i < names.n; i++) {
		uint32_t function = names.ranked[i];

		if (!n || strcmp(names.name[names.ranked[n - 1]], names.name[function]) != 0)
			names.ranked[n++] = function;
		names.rank[function] = (uint32_t)(n - 1);
	}
	*out = names;
	names = (struct profile_names){ 0 };
	return 0;
}

void profile_names_fini(struct profile_names *names)
{
	free(names->name);
	free(names->rank);
	free(names->ranked);
	free(names->text);
	*names = (struct profile_names){ 0 };
}

/* --- paths --- */

uint32_t profile_path_common(const struct profile_path *a, const struct profile_path *b)
{
	uint32_t n = 0, most = a->depth < b->depth ? a->depth : b->depth;

	while (n < most && a->function[n] == b->function[n])
		n++;
	return n;
}

/* While being sorted, paths hold the ranks of function names. */
static int by_ranks(const void *left, const void *right)
{
	const struct profile_path *a = left, *b = right;
	uint32_t n = profile_path_common(a, b);

	if (n < a->depth && n < b->depth)
		return a->function[n] < b->function[n] ? -1 : 1;
	return a->depth < b->depth ? -1 : a->depth > b->depth;
}

/* The stacks as paths of ranks, in the order of the profile. */
static int fill(struct profile_paths *paths, const struct profile *profile,
		const struct profile_names *names, bool keep_allocator, struct err *err)
{
	_cleanup_(cleanup_free) struct profile_line *lines =
		malloc(PROFILE_DEPTH_MAX * sizeof(*lines));
	size_t at = 0;

	if (!lines)
		return err_no_memory(err);
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
	size_t n_lines = 0, kept = 0;

	/* All lines, including those to be dropped. Stacks of several threads share frames. */
	for (size_t i = 0; i < profile->n_stacks; i++) {
		const uint32_t *frame = profile->frames + profile->stacks[i].first;

		for (uint32_t j = 0; j < profile->stacks[i].depth; j++)
			n_lines += profile->symbols->locations[frame[j]].n;
	}
	paths.v = calloc(profile->n_stacks + 1, sizeof(*paths.v));
	paths.functions = calloc(n_lines + 1, sizeof(*paths.functions));
	if (!paths.v || !paths.functions)
		return err_no_memory(err);
	if (fill(&paths, profile, names, keep_allocator, err))
		return -1;
	vec_sort(paths.v, paths.n, by_ranks);
	for (size_t i = 0; i < paths.n; i++) {
		struct profile_path *to = kept ? &paths.v[kept - 1] : NULL;
		const struct profile_path *from = &paths.v[i];

		if (!to || by_ranks(to, from)) {
			paths.v[kept++] = *from;
			continue;
		}
		for (size_t t = 0; t < PROFILE_TYPES; t++) {
			to->value[t] += from->value[t];
			to->variance[t] += from->variance[t];
		}
	}
	paths.n = kept;
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
