// SPDX-License-Identifier: Apache-2.0
/*
 * A page to look at a profile with: web/, as web/assemble puts it together, with the profile
 * in it as JSON. Numbers go in arrays, and of a stack only what it does not share with the
 * one before: a profile has too many calls for an object each. web/profile.js reads it.
 */
#include "base/text.h"
#include "profile/format/html_stacks.h"
#include "profile/format/private.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
	_cleanup_(index_fini) struct index files = { 0 };
	uint32_t n = 0;

	fputs("\"files\":[", out);
	for (size_t i = 0; i < s->n_frames; i++) {
		const char *file = file_of(p, s, i);

		if (!file || index_find(&files, (uintptr_t)file) != INDEX_NONE)
			continue;
		put_comma(n, out);
		format_json_text(file, out);
		if (!index_add(&files, (uintptr_t)file, n++))
			return err_set(err, ERR_FAILED, "no memory for %u file names", n);
	}
	fputs("],\n\"functions\":{\"file\":[", out);
	for (size_t i = 0; i < s->n_frames; i++) {
		const char *file = file_of(p, s, i);

		put_comma(i, out);
		fprintf(out, "%d", file ? (int)index_find(&files, (uintptr_t)file) : -1);
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
		return err_set(err, ERR_FAILED, "this build has no page");
	before = (size_t)(at - _binary_page_html_start);
	fwrite(_binary_page_html_start, 1, before, out);
	if (put_data(profile, options, out, err))
		return -1;
	at += sizeof(mark) - 1;
	fwrite(at, 1, len - before - (sizeof(mark) - 1), out);
	return 0;
}
