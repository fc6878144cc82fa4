// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hashmap.h"
#include "base/text.h"
#include "base/vec.h"
#include "profile/format/private.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/symbols.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Private to profile/format/html.c: the stacks of a profile as paths of
 * frames, where a frame is a function in a module. paths.h does not do: what
 * was inlined into two libraries is one function there.
 */

struct html_frame {
	uint32_t function; /* one of that name */
	uint32_t module;   /* n_modules: in none */
};

struct html_path {
	const uint32_t *frames; /* indices, the outermost first */
	uint32_t depth;
	const struct profile_stack *stack;
};

struct html_stacks {
	struct profile_names names;
	struct html_frame *frames;
	size_t n_frames;
	struct html_path *v; /* sorted: what begins alike lies together */
	size_t n;
	uint32_t *first; /* of each module, a mapping of its file; by address */
	uint32_t n_modules;
	uint32_t *module;    /* private: of each mapping */
	uint32_t *calls;     /* private: of all paths */
	size_t room;	     /* private: of frames */
	struct hashmap keys; /* private: of frames */
};

/* --- stacks --- */

/* How many frames two paths have in common at their outer end. */
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

/* A file may be mapped in several pieces: whoever made the profile keeps its path once. */
static bool find_modules(struct html_stacks *s, const struct profile *p)
{
	_cleanup_(hashmap_fini) struct hashmap paths = { 0 };

	for (size_t i = 0; i < p->n_mappings; i++) {
		uint64_t key = (uint64_t)(uintptr_t)p->mappings[i].path;
		uint32_t module = hashmap_get(&paths, key);

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
			if (*at == HASHMAP_NONE)
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

static void html_stacks_fini(struct html_stacks *stacks)
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

/*
 * Needs profile->symbols. Allocator frames at the inner end are dropped unless
 * kept. ERR_FAILED: no memory. The caller ends it with html_stacks_fini().
 */
static int html_stacks_init(struct html_stacks *out, const struct profile *profile,
			    bool keep_allocator, struct err *err)
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
		return err_no_memory(err);
	*out = s;
	s = (struct html_stacks){ 0 };
	return 0;
}

/* --- the page --- */

/*
 * A page to look at a profile with: web/, as web/assemble puts it together, with the profile
 * in it as JSON. Numbers go in arrays, and of a stack only what it does not share with the
 * one before: a profile has too many calls for an object each. web/profile.js reads it.
 */

/* The page, embedded by the linker: not ended by a 0. */
extern const char _binary_page_html_start[], _binary_page_html_end[];

/* --- the parts of JSON; nothing in its text can end the <script> that it lies in --- */

static void put_number(double n, FILE *out)
{
	/* 12 digits: sums are right to the byte up to a terabyte. */
	fprintf(out, "%.12g", isfinite(n) ? n : 0);
}

static void put_comma(size_t i, FILE *out)
{
	if (i)
		putc(',', out);
}

/* --- modules, files and functions --- */

static void put_module(const struct profile_mapping *m, FILE *out)
{
	fputs("{\"name\":", out);
	format_json_text(*m->path ? text_file_name(m->path) : "[no file]", out);
	fputs(",\"path\":", out);
	format_json_text(m->path, out);
	fputs(",\"build_id\":", out);
	format_json_text(m->build_id, out);
	fputs("}", out);
}

/* By address, and at the end what is in none. */
static void put_modules(const struct profile *p, const struct html_stacks *s, FILE *out)
{
	fputs("\"modules\":[", out);
	for (uint32_t i = 0; i < s->n_modules; i++) {
		put_module(&p->mappings[s->first[i]], out);
		putc(',', out);
	}
	fputs("{\"name\":\"[unknown]\",\"path\":\"\",\"build_id\":null}],\n", out);
}

static const char *file_of(const struct profile *p, const struct html_stacks *s, size_t frame)
{
	return p->symbols->functions[s->frames[frame].function].file;
}

/* Each file once, and of each function which it is; -1: unknown. */
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
		put_comma(n, out);
		format_json_text(file, out);
		if (!hashmap_put(&files, (uintptr_t)file, n++))
			return err_no_memory(err);
	}
	fputs("],\n\"functions\":{\"file\":[", out);
	for (size_t i = 0; i < s->n_frames; i++) {
		const char *file = file_of(p, s, i);

		put_comma(i, out);
		fprintf(out, "%d", file ? (int)hashmap_get(&files, (uintptr_t)file) : -1);
	}
	return 0;
}

static void put_functions(const struct html_stacks *s, FILE *out)
{
	fputs("],\n\"name\":[", out);
	for (size_t i = 0; i < s->n_frames; i++) {
		put_comma(i, out);
		putc('"', out);
		format_escape(format_json, s->names.name[s->frames[i].function], out);
		putc('"', out);
	}
	fputs("],\n\"module\":[", out);
	for (size_t i = 0; i < s->n_frames; i++) {
		put_comma(i, out);
		fprintf(out, "%u", s->frames[i].module);
	}
	fputs("]},\n", out);
}

/* --- stacks and what was allocated through them --- */

static uint32_t shared(const struct html_stacks *s, size_t i)
{
	return i ? html_path_common(&s->v[i - 1], &s->v[i]) : 0;
}

static void put_stacks(const struct html_stacks *s, FILE *out)
{
	size_t n = 0;

	fputs("\"stacks\":{\"depth\":[", out);
	for (size_t i = 0; i < s->n; i++) {
		put_comma(i, out);
		fprintf(out, "%u", s->v[i].depth);
	}
	fputs("],\n\"shared\":[", out);
	for (size_t i = 0; i < s->n; i++) {
		put_comma(i, out);
		fprintf(out, "%u", shared(s, i));
	}
	fputs("],\n\"functions\":[", out);
	for (size_t i = 0; i < s->n; i++) {
		for (uint32_t d = shared(s, i); d < s->v[i].depth; d++) {
			put_comma(n++, out);
			fprintf(out, "%u", s->v[i].frames[d]);
		}
	}
	fputs("]},\n", out);
}

static void put_counts(const struct profile *p, const struct html_stacks *s, bool variances,
		       FILE *out)
{
	fprintf(out, "\"%s\":{", variances ? "variances" : "values");
	for (unsigned int t = 0; t < format_n_types(p); t++) {
		put_comma(t, out);
		fprintf(out, "\"%s\":[", format_types[t].name);
		for (size_t i = 0; i < s->n; i++) {
			const struct profile_stack *stack = s->v[i].stack;

			put_comma(i, out);
			put_number(variances ? stack->variance[t] : stack->value[t], out);
		}
		fputs("]\n", out);
	}
	fputs("}", out);
}

static bool is_difference(const struct profile *p)
{
	bool negative = p->difference;

	for (size_t i = 0; i < p->n_stacks && !negative; i++)
		for (size_t t = 0; t < PROFILE_TYPES; t++)
			negative = negative || p->stacks[i].value[t] < 0;
	return negative;
}

static void put_facts(const struct profile *p, const char *title, FILE *out)
{
	const struct profile_facts *facts = &p->facts;
	const struct {
		const char *key, *raw;
	} texts[] = {
		{ "title", title },
		{ "comm", facts->comm },
		{ "host", facts->host },
		{ "version", facts->version },
	};

	fputs("\"facts\":{", out);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fprintf(out, "\"%s\":", texts[i].key);
		format_json_text(texts[i].raw, out);
		putc(',', out);
	}
	fprintf(out,
		"\"pid\":%" PRId64 ",\"time_ms\":%" PRId64 ",\"duration_ms\":%" PRId64
		",\"period\":%" PRIu64 ",\"difference\":%s},\n",
		facts->pid, facts->time_ns / 1000000, facts->duration_ns / 1000000, p->period,
		is_difference(p) ? "true" : "false");
}

static int put_data(const struct profile *p, const struct profile_format_options *options,
		    FILE *out, struct err *err)
{
	_cleanup_(html_stacks_fini) struct html_stacks s = { 0 };

	if (html_stacks_init(&s, p, options->keep_allocator, err))
		return -1;
	fputs("<script type=\"application/json\" id=\"data\">{", out);
	put_facts(p, options->title, out);
	put_modules(p, &s, out);
	if (put_files(p, &s, out, err))
		return -1;
	put_functions(&s, out);
	put_stacks(&s, out);
	put_counts(p, &s, false, out);
	fputs(",\n", out);
	put_counts(p, &s, true, out);
	fputs("}</script>\n", out);
	return 0;
}

int format_html(const struct profile *profile, const struct profile_format_options *options,
		FILE *out, struct err *err)
{
	static const char mark[] = "<!-- data -->\n";
	size_t len = format_embedded(_binary_page_html_start, _binary_page_html_end), before;
	const char *at = memmem(_binary_page_html_start, len, mark, sizeof(mark) - 1);

	if (!at)
		return err_raise(err, ERROR_NO_PAGE);
	before = (size_t)(at - _binary_page_html_start);
	fwrite(_binary_page_html_start, 1, before, out);
	if (put_data(profile, options, out, err))
		return -1;
	at += sizeof(mark) - 1;
	fwrite(at, 1, len - before - (sizeof(mark) - 1), out);
	return 0;
}
