// SPDX-License-Identifier: Apache-2.0
#include "profile/format/html.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "profile/diff.h"
#include "profile/format/private.h"
#include "profile/significance.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The page, embedded by the linker, without a final 0. */
extern const char _binary_page_html_start[], _binary_page_html_end[];

/* --- parts of the JSON; no text in it can end the <script> around it --- */

void html_put_number(double n, FILE *out)
{
	/* 12 digits: sums are exact to the byte up to a terabyte. */
	fprintf(out, "%.12g", isfinite(n) ? n : 0);
}

void html_put_comma(size_t i, FILE *out)
{
	if (i)
		putc(',', out);
}

static void put_counts(const struct profile *p, const struct html_stacks *s, bool variances,
		       FILE *out)
{
	enum profile_type known[PROFILE_TYPES];
	unsigned int n = format_known(p, known);

	fprintf(out, "\"%s\":{", variances ? "variances" : "values");
	for (unsigned int k = 0; k < n; k++) {
		enum profile_type t = known[k];
		size_t i = 0;

		html_put_comma(k, out);
		fprintf(out, "\"%s\":[", format_types[t].name);
		while (i < s->n) {
			size_t end = html_same_end(s, i);
			double sum = 0;

			html_put_comma(i, out);
			for (; i < end; i++)
				sum += variances ? s->v[i].stack->variance[t]
						 : s->v[i].stack->value[t];
			html_put_number(sum, out);
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

void html_put_facts(const struct profile *p, const char *title, bool difference, FILE *out)
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
		difference ? "true" : "false");
}

/* --- significant changes --- */

/* The numbers, on the page, of the stacks and frames that changed significantly. */
static int put_significance(const struct profile *p, const struct html_stacks *s,
			    const struct profile_format_options *options, FILE *out,
			    struct err *err)
{
	const struct profile_diff *functions = options->functions, *stacks = options->stacks;
	_cleanup_(cleanup_free) bool *marked =
		calloc(p->n_stacks + p->symbols->n_functions + 1, sizeof(*marked));
	bool *by_rank; /* to the reader, functions of one name are one */
	size_t n = 0;

	if (!marked)
		return err_no_memory(err);
	by_rank = marked + p->n_stacks;
	if (!functions || !stacks) {
		fputs("\"significance\":null,\n", out);
		return 0;
	}
	for (size_t i = 0; i < stacks->n; i++)
		marked[stacks->v[i].at] = stacks->v[i].significant;
	for (size_t i = 0; i < functions->n; i++)
		by_rank[s->names.rank[functions->v[i].at]] |= functions->v[i].significant;
	fprintf(out, "\"significance\":{\"confidence\":%g,\"stacks\":[", 1 - SIGNIFICANCE_LEVEL);
	for (size_t i = 0, at = 0; i < s->n; at++) {
		size_t end = html_same_end(s, i);
		bool any = false;

		for (; i < end; i++)
			any |= marked[s->v[i].stack - p->stacks];
		if (any) {
			html_put_comma(n++, out);
			fprintf(out, "%zu", at);
		}
	}
	fputs("],\"functions\":[", out);
	n = 0;
	for (size_t i = 0; i < s->n_frames; i++) {
		if (!by_rank[s->names.rank[s->frames[i].function]])
			continue;
		html_put_comma(n++, out);
		fprintf(out, "%zu", i);
	}
	fputs("]},\n", out);
	return 0;
}

/* --- the page --- */

struct one {
	const struct profile *profile;
	const struct profile_format_options *options;
};

static int put_data(const void *ctx, FILE *out, struct err *err)
{
	_cleanup_(html_stacks_fini) struct html_stacks s = { 0 };
	const struct one *one = ctx;
	const struct profile *p = one->profile;

	if (html_stacks_init(&s, p, NULL, one->options->keep_allocator, err))
		return -1;
	html_put_facts(p, one->options->title, is_difference(p), out);
	if (html_put_stacks(p, &s, out, err) || put_significance(p, &s, one->options, out, err))
		return -1;
	put_counts(p, &s, false, out);
	fputs(",\n", out);
	put_counts(p, &s, true, out);
	return 0;
}

/* The program's name: from the dump, or that of its file, which is mapped below its libraries. */
static const char *program_of(const struct profile *p)
{
	if (p->facts.comm)
		return p->facts.comm;
	return p->n_mappings && *p->mappings[0].path ? text_file_name(p->mappings[0].path) : NULL;
}

/* Write the page up to a mark, and skip the mark. */
static int put_until(const char *mark, const char **at, const char *end, FILE *out, struct err *err)
{
	const char *found = memmem(*at, (size_t)(end - *at), mark, strlen(mark));

	if (!found)
		return err_raise(err, ERROR_NO_PAGE);
	fwrite(*at, 1, (size_t)(found - *at), out);
	*at = found + strlen(mark);
	return 0;
}

int html_page(const struct profile *p, const char *title, const char *what, html_data_fn *data,
	      const void *ctx, FILE *out, struct err *err)
{
	size_t len = format_embedded(_binary_page_html_start, _binary_page_html_end);
	const char *at = _binary_page_html_start, *end = at + len;
	const char *of = title ? title : program_of(p);
	time_t seconds = (time_t)(p->facts.time_ns / 1000000000);
	char when[40];
	struct tm tm;

	if (put_until("<!-- title -->\n", &at, end, out, err))
		return -1;
	fputs("<title>", out);
	if (of) {
		format_raw(format_xml, of, out);
		fputs(": ", out);
	}
	fputs(what, out);
	if (p->facts.time_ns > 0 && gmtime_r(&seconds, &tm) &&
	    strftime(when, sizeof(when), ", %Y-%m-%d %H:%M:%S UTC", &tm))
		fputs(when, out);
	fputs("</title>\n", out);
	if (put_until("<!-- data -->\n", &at, end, out, err))
		return -1;
	fputs("<script type=\"application/json\" id=\"data\">{", out);
	if (data(ctx, out, err))
		return -1;
	fputs("}</script>\n", out);
	fwrite(at, 1, (size_t)(end - at), out);
	return 0;
}

int format_html(const struct profile *profile, const struct profile_format_options *options,
		FILE *out, struct err *err)
{
	const struct one one = { profile, options };

	return html_page(profile, options->title,
			 is_difference(profile) ? "difference of heap profiles" : "heap profile",
			 put_data, &one, out, err);
}
