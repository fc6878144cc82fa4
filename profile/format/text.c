// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "profile/format/private.h"

#include <math.h>
#include <string.h>

/* Shared by the text formats: rounding, and escaping of names in quotes and tags. */

int64_t format_round(struct format_sum *sum, double value)
{
	/* Far below the limits of doubles and 64-bit integers, even as a difference of two. */
	const double most = 4e18;
	int64_t now, before = sum->written;

	if (isfinite(value))
		sum->exact = fmin(fmax(sum->exact + value, -most), most);
	now = llround(sum->exact);
	sum->written = now;
	return now - before;
}

const struct format_type format_types[PROFILE_TYPES] = {
	[PROFILE_INUSE_OBJECTS] = { "inuse_objects", "count" },
	[PROFILE_INUSE_SPACE] = { "inuse_space", "bytes" },
	[PROFILE_ALLOC_OBJECTS] = { "alloc_objects", "count" },
	[PROFILE_ALLOC_SPACE] = { "alloc_space", "bytes" },
};

unsigned int format_known(const struct profile *profile, enum profile_type known[PROFILE_TYPES])
{
	unsigned int n = 0;

	for (int t = 0; t < PROFILE_TYPES; t++) {
		if (profile_knows(profile, (enum profile_type)t))
			known[n++] = (enum profile_type)t;
	}
	return n;
}

bool format_is_bytes(enum profile_type type)
{
	return type == PROFILE_INUSE_SPACE || type == PROFILE_ALLOC_SPACE;
}

const char *format_amount(enum profile_type type, double amount, char *buf, size_t size)
{
	bool minus = amount < 0 && size;
	double most = fmin(fabs(amount), 1e18);

	if (minus)
		*buf = '-';
	if (format_is_bytes(type))
		text_size((uint64_t)llround(most), buf + minus, size - minus);
	else
		snprintf(buf + minus, size - minus, "%lld", (long long)llround(most));
	return buf;
}

void format_escape(const struct format_escape *escapes, const char *text, FILE *out)
{
	for (; *text; text++) {
		const struct format_escape *e = escapes;

		while (e->text && e->c != *text)
			e++;
		if (e->text)
			fputs(e->text, out);
		else
			putc(*text, out);
	}
}

/* '<' as well: the document may be embedded in a page. */
const struct format_escape format_json[] = {
	{ '"', "\\\"" }, { '\\', "\\\\" }, { '<', "\\u003c" }, { 0, NULL }
};
const struct format_escape format_xml[] = {
	{ '<', "&lt;" }, { '>', "&gt;" }, { '&', "&amp;" }, { '"', "&quot;" }, { 0, NULL }
};

const struct format_escape format_plain[] = { { 0, NULL } };

void format_raw(const struct format_escape *escapes, const char *raw, FILE *out)
{
	char safe[PROFILE_NAME_MAX];

	format_escape(escapes, output_safe(raw, safe, sizeof(safe)), out);
}

void format_json_text(const char *raw, FILE *out)
{
	if (!raw) {
		fputs("null", out);
		return;
	}
	putc('"', out);
	format_raw(format_json, raw, out);
	putc('"', out);
}

int format_stacks_init(struct format_stacks *out, const struct profile *profile,
		       const struct profile_format_options *options, struct err *err)
{
	_cleanup_(format_stacks_fini) struct format_stacks s = { 0 };

	if (profile_names_init(&s.names, profile->symbols, err) ||
	    profile_paths_init(&s.paths, profile, &s.names, options->keep_allocator, err))
		return -1;
	*out = s;
	s = (struct format_stacks){ 0 };
	return 0;
}

void format_stacks_fini(struct format_stacks *stacks)
{
	profile_names_fini(&stacks->names);
	profile_paths_fini(&stacks->paths);
}

const char *format_title(const struct profile *profile,
			 const struct profile_format_options *options)
{
	if (options->title)
		return options->title;
	return profile->facts.comm ? profile->facts.comm : "heap profile";
}

size_t format_embedded(const char *start, const char *end)
{
	/* In C these are two arrays, whose addresses must not be subtracted as pointers. */
	return (size_t)((uintptr_t)end - (uintptr_t)start);
}

/* --- folded stacks --- */

/* "main;work;malloc_it 4096", for flamegraph.pl and the like. */

/* A ';' within a name would split it into two frames (Rust has "[u8; 32]"). */
static const struct format_escape separators[] = { { ';', ":" }, { 0, NULL } };

int format_folded(const struct profile *profile, const struct profile_format_options *options,
		  FILE *out, struct err *err)
{
	_cleanup_(format_stacks_fini) struct format_stacks stacks = { 0 };
	struct format_sum sum = { 0 };

	if (format_stacks_init(&stacks, profile, options, err))
		return -1;
	for (size_t i = 0; i < stacks.paths.n; i++) {
		const struct profile_path *path = &stacks.paths.v[i];
		int64_t n = format_round(&sum, path->value[options->type]);

		if (!n)
			continue;
		for (uint32_t d = 0; d < path->depth; d++) {
			if (d)
				putc(';', out);
			format_escape(separators, stacks.names.name[path->function[d]], out);
		}
		fprintf(out, "%s %lld\n", path->depth ? "" : "?", (long long)n);
	}
	return 0;
}
