// SPDX-License-Identifier: Apache-2.0
/*
 * A page to look at a profile with: web/, as web/assemble puts it together, with the profile
 * in it as JSON. Numbers go in arrays, and of a stack only what it does not share with the
 * one before: a profile has too many calls for an object each. web/profile.js reads it.
 */
#include "profile/format_private.h"
#include "profile/index.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The page, embedded by the linker: not ended by a 0. */
extern const char _binary_page_html_start[], _binary_page_html_end[];

/* What each function and each stack refers to. */
struct html_data {
	const struct profile *profile;
	struct format_stacks stacks;
	uint32_t *mapping; /* of each function; PROFILE_NONE: in none */
	uint32_t *module;  /* of each function: the place of its mapping's file in the list */
	struct index files, modules;
};

static void data_fini(struct html_data *d)
{
	format_stacks_fini(&d->stacks);
	index_fini(&d->files);
	index_fini(&d->modules);
	free(d->mapping);
	free(d->module);
}

/* --- the parts of JSON; nothing in its text can end the <script> that it lies in --- */

static void put_text(const char *raw, FILE *out)
{
	if (!raw) {
		fputs("null", out);
		return;
	}
	putc('"', out);
	format_raw(format_json, raw, out);
	putc('"', out);
}

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

/* --- modules and source files --- */

/* Each is known by where its path lies: who made the profile keeps a path once. */
static uint64_t key_of(const char *path)
{
	return (uint64_t)(uintptr_t)path;
}

/* A function is in the first mapping that it is found in. */
static void find_mappings(struct html_data *d)
{
	const struct profile_symbols *symbols = d->profile->symbols;

	memset(d->mapping, 0xff, symbols->n_functions * sizeof(*d->mapping));
	for (size_t i = 0; i < symbols->n_locations; i++) {
		const struct profile_location *at = &symbols->locations[i];

		for (uint32_t k = 0; k < at->n; k++) {
			uint32_t *mapping = &d->mapping[symbols->lines[at->first + k].function];

			if (*mapping == PROFILE_NONE)
				*mapping = d->profile->addresses[i].mapping;
		}
	}
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void put_module(const struct profile_mapping *m, FILE *out)
{
	fputs("{\"name\":", out);
	put_text(*m->path ? base_name(m->path) : "[no file]", out);
	fputs(",\"path\":", out);
	put_text(m->path, out);
	fputs(",\"build_id\":", out);
	put_text(m->build_id, out);
	fputs("}", out);
}

/* Sets each function's module. True when some function is in none, that is in `unknown`. */
static bool find_modules(struct html_data *d, uint32_t unknown)
{
	const struct profile *p = d->profile;
	bool found = false;

	for (size_t i = 0; i < p->symbols->n_functions; i++) {
		uint32_t m = d->mapping[i];

		d->module[i] = unknown;
		if (m == PROFILE_NONE)
			found = true;
		else
			d->module[i] = index_find(&d->modules, key_of(p->mappings[m].path));
	}
	return found;
}

/* The files that functions are in, by address, and at the end what is in none. */
static int put_modules(struct html_data *d, FILE *out, struct err *err)
{
	const struct profile *p = d->profile;
	_cleanup_(cleanup_free) bool *used = calloc(p->n_mappings + 1, sizeof(*used));
	uint32_t n = 0;

	if (!used)
		return err_set(err, ERR_FAILED, "no memory for %zu mappings", p->n_mappings);
	for (size_t i = 0; i < p->symbols->n_functions; i++)
		if (d->mapping[i] != PROFILE_NONE)
			used[d->mapping[i]] = true;
	fputs("\"modules\":[", out);
	for (size_t i = 0; i < p->n_mappings; i++) {
		uint64_t key = key_of(p->mappings[i].path);

		if (!used[i] || index_find(&d->modules, key) != INDEX_NONE)
			continue;
		put_comma(n, out);
		put_module(&p->mappings[i], out);
		if (!index_add(&d->modules, key, n++))
			return err_set(err, ERR_FAILED, "no memory for %u modules", n);
	}
	if (find_modules(d, n)) {
		put_comma(n, out);
		fputs("{\"name\":\"[unknown]\",\"path\":\"\",\"build_id\":null}", out);
	}
	fputs("],\n", out);
	return 0;
}

static int put_files(struct html_data *d, FILE *out, struct err *err)
{
	const struct profile_symbols *symbols = d->profile->symbols;
	uint32_t n = 0;

	fputs("\"files\":[", out);
	for (size_t i = 0; i < symbols->n_functions; i++) {
		const char *file = symbols->functions[i].file;

		if (!file || index_find(&d->files, key_of(file)) != INDEX_NONE)
			continue;
		put_comma(n, out);
		put_text(file, out);
		if (!index_add(&d->files, key_of(file), n++))
			return err_set(err, ERR_FAILED, "no memory for %u file names", n);
	}
	fputs("],\n", out);
	return 0;
}

static void put_functions(const struct html_data *d, FILE *out)
{
	const struct profile_symbols *symbols = d->profile->symbols;

	fputs("\"functions\":{\"name\":[", out);
	for (size_t i = 0; i < symbols->n_functions; i++) {
		put_comma(i, out);
		putc('"', out);
		format_escape(format_json, d->stacks.names.name[i], out);
		putc('"', out);
	}
	fputs("],\n\"file\":[", out);
	for (size_t i = 0; i < symbols->n_functions; i++) {
		const char *file = symbols->functions[i].file;

		put_comma(i, out);
		fprintf(out, "%d", file ? (int)index_find(&d->files, key_of(file)) : -1);
	}
	fputs("],\n\"module\":[", out);
	for (size_t i = 0; i < symbols->n_functions; i++) {
		put_comma(i, out);
		fprintf(out, "%u", d->module[i]);
	}
	fputs("]},\n", out);
}

/* --- stacks and what was allocated through them --- */

static uint32_t shared(const struct profile_paths *paths, size_t i)
{
	return i ? profile_path_common(&paths->v[i - 1], &paths->v[i]) : 0;
}

static void put_stacks(const struct profile_paths *paths, FILE *out)
{
	size_t n = 0;

	fputs("\"stacks\":{\"depth\":[", out);
	for (size_t i = 0; i < paths->n; i++) {
		put_comma(i, out);
		fprintf(out, "%u", paths->v[i].depth);
	}
	fputs("],\n\"shared\":[", out);
	for (size_t i = 0; i < paths->n; i++) {
		put_comma(i, out);
		fprintf(out, "%u", shared(paths, i));
	}
	fputs("],\n\"functions\":[", out);
	for (size_t i = 0; i < paths->n; i++) {
		for (uint32_t d = shared(paths, i); d < paths->v[i].depth; d++) {
			put_comma(n++, out);
			fprintf(out, "%u", paths->v[i].function[d]);
		}
	}
	fputs("]},\n", out);
}

static void put_counts(const struct html_data *d, bool variances, FILE *out)
{
	const struct profile_paths *paths = &d->stacks.paths;

	fprintf(out, "\"%s\":{", variances ? "variances" : "values");
	for (unsigned int t = 0; t < format_n_types(d->profile); t++) {
		put_comma(t, out);
		fprintf(out, "\"%s\":[", format_types[t].name);
		for (size_t i = 0; i < paths->n; i++) {
			const struct profile_path *path = &paths->v[i];

			put_comma(i, out);
			put_number(variances ? path->variance[t] : path->value[t], out);
		}
		fputs("]\n", out);
	}
	fputs("}", out);
}

static bool is_difference(const struct profile_paths *paths)
{
	for (size_t i = 0; i < paths->n; i++)
		for (size_t t = 0; t < PROFILE_TYPES; t++)
			if (paths->v[i].value[t] < 0)
				return true;
	return false;
}

static void put_facts(const struct html_data *d, const char *title, FILE *out)
{
	const struct profile_facts *facts = &d->profile->facts;
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
		put_text(texts[i].raw, out);
		putc(',', out);
	}
	fprintf(out,
		"\"pid\":%" PRId64 ",\"time_ms\":%" PRId64 ",\"duration_ms\":%" PRId64
		",\"period\":%" PRIu64 ",\"difference\":%s},\n",
		facts->pid, facts->time_ns / 1000000, facts->duration_ns / 1000000,
		d->profile->period, is_difference(&d->stacks.paths) ? "true" : "false");
}

static int put_data(struct html_data *d, const char *title, FILE *out, struct err *err)
{
	fputs("<script type=\"application/json\" id=\"data\">{", out);
	put_facts(d, title, out);
	if (put_modules(d, out, err) || put_files(d, out, err))
		return -1;
	put_functions(d, out);
	put_stacks(&d->stacks.paths, out);
	put_counts(d, false, out);
	fputs(",\n", out);
	put_counts(d, true, out);
	fputs("}</script>\n", out);
	return 0;
}

int format_html(const struct profile *profile, const struct profile_format_options *options,
		FILE *out, struct err *err)
{
	static const char mark[] = "<!-- data -->\n";
	_cleanup_(data_fini) struct html_data d = { .profile = profile };
	size_t n = profile->symbols->n_functions, before;
	size_t len = format_embedded(_binary_page_html_start, _binary_page_html_end);
	const char *at = memmem(_binary_page_html_start, len, mark, sizeof(mark) - 1);

	d.mapping = calloc(n + 1, sizeof(*d.mapping));
	d.module = calloc(n + 1, sizeof(*d.module));
	if (!at || !d.mapping || !d.module)
		return err_set(err, ERR_FAILED, "no memory for %zu functions", n);
	if (format_stacks_init(&d.stacks, profile, options, err))
		return -1;
	find_mappings(&d);
	before = (size_t)(at - _binary_page_html_start);
	fwrite(_binary_page_html_start, 1, before, out);
	if (put_data(&d, options->title, out, err))
		return -1;
	at += sizeof(mark) - 1;
	fwrite(at, 1, len - before - (sizeof(mark) - 1), out);
	return 0;
}
