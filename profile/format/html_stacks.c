// SPDX-License-Identifier: Apache-2.0
#include "profile/format/html.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "base/vec.h"
#include "profile/format/private.h"

#include <stdbool.h>
#include <stdlib.h>

/* --- stacks --- */

/* The number of outermost frames that two paths have in common. */
static uint32_t html_path_common(const struct html_path *a, const struct html_path *b)
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

/* A file may be mapped in several pieces: its path is interned, and so is one pointer. */
static bool find_modules(struct html_stacks *s, const struct profile *p, const bool *keep)
{
	_cleanup_(hashmap_fini) struct hashmap paths = { 0 };
	/* The mappings that the kept stacks need; NULL: all. */
	_cleanup_(cleanup_free) bool *needed = NULL;

	if (keep) {
		needed = calloc(p->n_mappings + 1, sizeof(*needed));
		if (!needed)
			return false;
	}
	for (size_t i = 0; keep && i < p->n_stacks; i++) {
		for (uint32_t k = 0; keep[i] && k < p->stacks[i].depth; k++) {
			uint32_t address = p->frames[p->stacks[i].first + k];

			if (p->addresses[address].mapping != PROFILE_NONE)
				needed[p->addresses[address].mapping] = true;
		}
	}
	for (size_t i = 0; i < p->n_mappings; i++) {
		uint64_t key = (uint64_t)(uintptr_t)p->mappings[i].path;
		uint32_t module = hashmap_get(&paths, key);

		if (needed && !needed[i])
			continue;
		if (module == HASHMAP_NONE) {
			module = s->n_modules++;
			s->first[module] = (uint32_t)i;
			if (!hashmap_put(&paths, key, module))
				return false;
		}
		s->module[i] = module;
	}
	return true;
}

/* The frame of a function in a mapping; HASHMAP_NONE without memory. */
static uint32_t frame_of(struct html_stacks *s, uint32_t function, uint32_t mapping)
{
	uint32_t module = mapping == PROFILE_NONE ? s->n_modules : s->module[mapping];
	uint32_t rank = s->names.rank[function], frame;
	uint64_t key = (uint64_t)rank << 32 | module;

	frame = hashmap_get(&s->keys, key);
	if (frame != HASHMAP_NONE)
		return frame;
	if (!vec_grow(s->frames, s->room, s->n_frames))
		return HASHMAP_NONE;
	frame = (uint32_t)s->n_frames;
	if (!hashmap_put(&s->keys, key, frame))
		return HASHMAP_NONE;
	s->frames[s->n_frames++] = (struct html_frame){ s->names.ranked[rank], module };
	return frame;
}

/* An upper bound of a stack's lines without the allocator's. */
static size_t count_calls(const struct profile *p, const struct profile_stack *stack)
{
	size_t n = 0;

	for (uint32_t i = 0; i < stack->depth; i++)
		n += p->symbols->locations[p->frames[stack->first + i]].n;
	return n;
}

/* The path of each stack is written backwards from its end. False without memory. */
static bool make_paths(struct html_stacks *s, const struct profile *p, const bool *keep,
		       bool keep_allocator)
{
	uint32_t *end = s->calls;

	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct profile_stack *stack = &p->stacks[i];
		uint32_t *at, frame, line;

		if (keep && !keep[i])
			continue;
		end += count_calls(p, stack);
		at = end;
		profile_stack_start(p, stack, keep_allocator, &frame, &line);
		for (; frame < stack->depth; frame++, line = 0) {
			uint32_t address = p->frames[stack->first + frame];
			const struct profile_location *lines = &p->symbols->locations[address];

			for (; line < lines->n; line++) {
				*--at = frame_of(s, p->symbols->lines[lines->first + line].function,
						 p->addresses[address].mapping);
				if (*at == HASHMAP_NONE)
					return false;
			}
		}
		s->v[s->n++] = (struct html_path){ at, (uint32_t)(end - at), stack };
	}
	vec_sort(s->v, s->n, by_frames);
	return true;
}

void html_stacks_fini(struct html_stacks *stacks)
{
	profile_names_fini(&stacks->names);
	hashmap_fini(&stacks->keys);
	free(stacks->frames);
	free(stacks->v);
	free(stacks->first);
	free(stacks->module);
	free(stacks->calls);
	*stacks = (struct html_stacks){ 0 };
}

int html_stacks_init(struct html_stacks *out, const struct profile *profile, const bool *keep,
		     bool keep_allocator, struct err *err)
{
	_cleanup_(html_stacks_fini) struct html_stacks s = { 0 };
	size_t n_calls = 0;

	if (profile_names_init(&s.names, profile->symbols, err))
		return -1;
	for (size_t i = 0; i < profile->n_stacks; i++)
		n_calls += keep && !keep[i] ? 0 : count_calls(profile, &profile->stacks[i]);
	s.first = calloc(profile->n_mappings + 1, sizeof(*s.first));
	s.module = calloc(profile->n_mappings + 1, sizeof(*s.module));
	s.calls = calloc(n_calls + 1, sizeof(*s.calls));
	s.v = calloc(profile->n_stacks + 1, sizeof(*s.v));
	if (!s.first || !s.module || !s.calls || !s.v || !find_modules(&s, profile, keep) ||
	    !make_paths(&s, profile, keep, keep_allocator))
		return err_no_memory(err);
	*out = s;
	s = (struct html_stacks){ 0 };
	return 0;
}

/* --- files and functions --- */

static const char *file_of(const struct profile *p, const struct html_stacks *s, size_t frame)
{
	return p->symbols->functions[s->frames[frame].function].file;
}

/* Each file once, then the file number of each function; -1: unknown. */
static int put_files(const struct profile *p, const struct html_stacks *s, FILE *out,
		     struct err *err)
{
	_cleanup_(hashmap_fini) struct hashmap files = { 0 };
	uint32_t n = 0;

	fputs("\"files\":[", out);
	for (size_t i = 0; i < s->n_frames; i++) {
		const char *file = file_of(p, s, i);

		if (!file || hashmap_get(&files, (uintptr_t)file) != HASHMAP_NONE)
			continue;
		html_put_comma(n, out);
		format_json_text(file, out);
		if (!hashmap_put(&files, (uintptr_t)file, n++))
			return err_no_memory(err);
	}
	fputs("],\n\"functions\":{\"file\":[", out);
	for (size_t i = 0; i < s->n_frames; i++) {
		const char *file = file_of(p, s, i);

		html_put_comma(i, out);
		fprintf(out, "%d", file ? (int)hashmap_get(&files, (uintptr_t)file) : -1);
	}
	fputs(s->rest ? s->n_frames ? ",-1" : "-1" : "", out);
	return 0;
}

static void put_functions(const struct html_stacks *s, FILE *out)
{
	fputs("],\n\"name\":[", out);
	for (size_t i = 0; i < s->n_frames; i++) {
		html_put_comma(i, out);
		putc('"', out);
		format_escape(format_json, s->names.name[s->frames[i].function], out);
		putc('"', out);
	}
	if (s->rest) {
		html_put_comma(s->n_frames, out);
		format_json_text(s->rest, out);
	}
	fputs("],\n\"module\":[", out);
	for (size_t i = 0; i < s->n_frames; i++) {
		html_put_comma(i, out);
		fprintf(out, "%u", s->frames[i].module);
	}
	if (s->rest) {
		html_put_comma(s->n_frames, out);
		fprintf(out, "%u", s->n_modules);
	}
	fputs("]},\n", out);
}

/* --- stacks and what was allocated through them --- */

static uint32_t shared(const struct html_stacks *s, size_t i)
{
	return i ? html_path_common(&s->v[i - 1], &s->v[i]) : 0;
}

size_t html_same_end(const struct html_stacks *s, size_t i)
{
	do
		i++;
	while (i < s->n && s->v[i].depth == s->v[i - 1].depth && shared(s, i) == s->v[i].depth);
	return i;
}

static void put_paths(const struct html_stacks *s, FILE *out)
{
	size_t n = 0;

	fputs("\"stacks\":{\"depth\":[", out);
	for (size_t i = 0; i < s->n; i = html_same_end(s, i)) {
		html_put_comma(i, out);
		fprintf(out, "%u", s->v[i].depth);
	}
	fputs(s->rest ? s->n ? ",1" : "1" : "", out);
	fputs("],\n\"shared\":[", out);
	for (size_t i = 0; i < s->n; i = html_same_end(s, i)) {
		html_put_comma(i, out);
		fprintf(out, "%u", shared(s, i));
	}
	fputs(s->rest ? s->n ? ",0" : "0" : "", out);
	fputs("],\n\"functions\":[", out);
	for (size_t i = 0; i < s->n; i++) {
		for (uint32_t d = shared(s, i); d < s->v[i].depth; d++) {
			html_put_comma(n++, out);
			fprintf(out, "%u", s->v[i].frames[d]);
		}
	}
	if (s->rest) {
		html_put_comma(n, out);
		fprintf(out, "%zu", s->n_frames);
	}
	fputs("]},\n", out);
}

int html_put_stacks(const struct profile *p, const struct html_stacks *s, FILE *out,
		    struct err *err)
{
	/* By address, and finally "no file". */
	fputs("\"modules\":[", out);
	for (uint32_t i = 0; i < s->n_modules; i++) {
		const struct profile_mapping *m = &p->mappings[s->first[i]];

		fputs("{\"name\":", out);
		format_json_text(*m->path ? text_file_name(m->path) : "[no file]", out);
		fputs(",\"path\":", out);
		format_json_text(m->path, out);
		fputs(",\"build_id\":", out);
		format_json_text(m->build_id, out);
		fputs("},", out);
	}
	fputs("{\"name\":\"[unknown]\",\"path\":\"\",\"build_id\":null}],\n", out);
	if (put_files(p, s, out, err))
		return -1;
	put_functions(s, out);
	put_paths(s, out);
	return 0;
}
