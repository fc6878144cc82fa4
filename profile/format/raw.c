// SPDX-License-Identifier: Apache-2.0
/*
 * A profile with its names, which jeprof(1) can read without the program: the output of its --raw,
 * with additions in lines that it ignores (doc/heap-format.md).
 */
#include "base/cleanup.h"
#include "profile/format/private.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Text must not end a field or a line. */
static void put_char(char c, FILE *out)
{
	putc((unsigned char)c < 0x20 || c == 0x7f ? ' ' : c, out);
}

static void put_text(const char *text, FILE *out)
{
	for (; *text; text++)
		put_char(*text, out);
}

/*
 * "0xPLACE outer--inner": the innermost place of a stack is the address itself, that of a call the
 * address before. jeprof knows the allocator by a few names; other allocator functions get one of
 * these, so that it drops them, too.
 */
static void put_names(const struct profile *p, size_t address, uint64_t place, char between,
		      FILE *out)
{
	const struct profile_symbols *s = p->symbols;
	const struct profile_location *at = &s->locations[address];

	fprintf(out, "0x%016" PRIx64 "%c", place, between);
	for (uint32_t i = at->n; i-- > 0;) {
		const struct profile_function *f = &s->functions[s->lines[at->first + i].function];
		const char *name = f->allocator ? "malloc" : f->name;

		/* jeprof would also find the "--" between names within one. */
		for (const char *c = name; *c; c++) {
			if (c[0] == '-' && c > name && c[-1] == '-')
				putc(' ', out);
			put_char(*c, out);
		}
		fputs(i ? "--" : "\n", out);
	}
}

void profile_write_symbols(const struct profile *p, FILE *out)
{
	for (size_t i = 0; i < p->n_addresses; i++) {
		if (p->addresses[i].mapping != PROFILE_NONE)
			put_names(p, i, p->addresses[i].pc - 1, '\t', out);
	}
}

static int put_symbols(const struct profile *p, FILE *out, struct err *err)
{
	_cleanup_(cleanup_free) bool *innermost = calloc(p->n_addresses + 1, sizeof(*innermost));
	const struct profile_symbols *s = p->symbols;

	if (!innermost)
		return err_no_memory(err);
	for (size_t i = 0; i < p->n_stacks; i++) {
		if (p->stacks[i].depth)
			innermost[p->frames[p->stacks[i].first]] = true;
	}
	fputs("--- symbol\n", out);
	for (size_t i = 0; i < p->n_mappings; i++) {
		if (p->mappings[i].path[0] != '/')
			continue;
		fputs("binary=", out);
		put_text(p->mappings[i].path, out);
		putc('\n', out);
		break;
	}
	for (size_t i = 0; i < p->n_addresses; i++) {
		put_names(p, i, p->addresses[i].pc - 1, ' ', out);
		if (innermost[i])
			put_names(p, i, p->addresses[i].pc, ' ', out);
		/* "#0xRETURN line TAB file TAB linkage TAB name", innermost first. */
		for (uint32_t j = 0; j < s->locations[i].n; j++) {
			const struct profile_line *line = &s->lines[s->locations[i].first + j];
			const struct profile_function *f = &s->functions[line->function];

			fprintf(out, "#0x%" PRIx64 " %u\t", p->addresses[i].pc, line->line);
			put_text(f->file && *f->file ? f->file : "?", out);
			putc('\t', out);
			put_text(f->linkage, out);
			putc('\t', out);
			put_text(f->name, out);
			putc('\n', out);
		}
	}
	fputs("---\n--- heap\n", out);
	return 0;
}

static void put_counts(const double n[PROFILE_TYPES], FILE *out)
{
	fprintf(out, "  t*: %.0f: %.0f [%.0f: %.0f]\n", n[PROFILE_INUSE_OBJECTS],
		n[PROFILE_INUSE_SPACE], n[PROFILE_ALLOC_OBJECTS], n[PROFILE_ALLOC_SPACE]);
}

static void put_stacks(const struct profile *p, FILE *out)
{
	double total[PROFILE_TYPES] = { 0 };

	for (size_t i = 0; i < p->n_stacks; i++) {
		for (int t = 0; t < PROFILE_TYPES; t++)
			total[t] += p->stacks[i].sampled[t];
	}
	/* Allocated bytes must not be scaled again. */
	fprintf(out, "heap_v2/%" PRIu64 "\n", p->facts.only_alloc_space ? 1 : p->period);
	put_counts(total, out);
	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct profile_stack *s = &p->stacks[i];

		putc('@', out);
		for (uint32_t j = 0; j < s->depth; j++)
			fprintf(out, " 0x%" PRIx64, p->addresses[p->frames[s->first + j]].pc);
		putc('\n', out);
		put_counts(s->sampled, out);
	}
}

static void put_fact(const char *key, const char *text, FILE *out)
{
	if (!text)
		return;
	fprintf(out, "# %s ", key);
	for (const char *at = text; *at; at++) {
		if ((unsigned char)*at < 0x20 || *at == 0x7f || *at == '\\')
			fprintf(out, "\\x%02x", (unsigned char)*at);
		else
			putc(*at, out);
	}
	putc('\n', out);
}

static void put_number(const char *key, int64_t n, FILE *out)
{
	if (n)
		fprintf(out, "# %s %" PRId64 "\n", key, n);
}

static void put_mappings(const struct profile *p, FILE *out)
{
	fputs("\nMAPPED_LIBRARIES:\n", out);
	for (size_t i = 0; i < p->n_mappings; i++) {
		const struct profile_mapping *m = &p->mappings[i];

		fprintf(out, "%" PRIx64 "-%" PRIx64 " r-xp %08" PRIx64 " 00:00 0 %s%s\n", m->start,
			m->end, m->offset, m->path, m->deleted ? " (deleted)" : "");
	}
	put_number("pid", p->facts.pid, out);
	put_fact("comm", p->facts.comm, out);
	put_fact("host", p->facts.host, out);
	put_fact("version", p->facts.version, out);
	put_number("time_ns", p->facts.time_ns, out);
	put_number("duration_ns", p->facts.duration_ns, out);
	if (p->facts.only_alloc_space) {
		put_fact("counts", "alloc_space", out);
		put_number("sample_bytes", p->facts.sample_bytes, out);
	}
	for (size_t i = 0; i < p->n_mappings; i++) {
		const struct profile_mapping *m = &p->mappings[i];

		if (m->build_id)
			fprintf(out, "# build-id %" PRIx64 "-%" PRIx64 " %s\n", m->start, m->end,
				m->build_id);
	}
}

int format_raw_profile(const struct profile *profile, const struct profile_format_options *options,
		       FILE *out, struct err *err)
{
	(void)options;
	if (profile->rates_differ)
		return err_raise(err, ERROR_RAW_MIXED_RATES);
	for (size_t i = 0; i < profile->n_stacks; i++) {
		for (int t = 0; t < PROFILE_TYPES; t++) {
			if (profile->stacks[i].sampled[t] < 0) {
				err_raise(err, ERROR_RAW_NO_DIFFERENCE);
				return err_advise(err, FIX_LEAVE_OUT_WHAT_SHRANK);
			}
		}
	}
	if (put_symbols(profile, out, err))
		return -1;
	put_stacks(profile, out);
	put_mappings(profile, out);
	return 0;
}
