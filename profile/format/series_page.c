// SPDX-License-Identifier: Apache-2.0
#include "profile/format/series_page.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "profile/format/html.h"
#include "profile/format/private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char rest_name[] = "[small stacks, left out]";

/* The part of the series that the page has. */
struct held {
	const struct series_page *page;
	size_t *moment; /* profiles with stacks: first, last, and evenly spaced ones between */
	size_t n_moments;
	size_t *order; /* of stacks: those to keep come first */
	size_t n_used; /* of these: number with a count in any profile */
	size_t n_kept; /* of these: number that are kept */
	bool *keep;    /* of each stack */
};

static void close_held(struct held *h)
{
	free(h->moment);
	free(h->order);
	free(h->keep);
}

/* --- selection --- */

struct ranked {
	size_t stack;
	double most; /* bytes, in any profile */
};

static int largest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->most != y->most)
		return x->most > y->most ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* Growing stacks come first, then the others by size. */
static int hold(struct held *h, struct err *err)
{
	const struct profile_series *s = h->page->series;
	size_t n = s->all.n_stacks;
	_cleanup_(cleanup_free) struct ranked *ranked = calloc(n + 1, sizeof(*ranked));

	h->n_moments = s->n < SERIES_MOMENTS_MAX ? s->n : SERIES_MOMENTS_MAX;
	h->moment = calloc(h->n_moments + 1, sizeof(*h->moment));
	h->order = calloc(n + 1, sizeof(*h->order));
	h->keep = calloc(n + 1, sizeof(*h->keep));
	if (!ranked || !h->moment || !h->order || !h->keep)
		return err_no_memory(err);
	for (size_t i = 1; i < h->n_moments; i++)
		h->moment[i] = i * (s->n - 1) / (h->n_moments - 1);
	for (size_t i = 0; i < n; i++) {
		ranked[i].stack = i;
		for (size_t at = 0; at < s->n; at++)
			ranked[i].most = fmax(ranked[i].most, profile_series_value(s, at, i));
	}
	for (size_t i = 0; i < h->page->n_growers; i++)
		ranked[h->page->growers[i].leak->stack].most = INFINITY;
	vec_sort(ranked, n, largest_first);
	for (size_t i = 0; i < n; i++) {
		h->order[i] = ranked[i].stack;
		h->n_used += ranked[i].most > 0;
	}
	h->n_kept = SERIES_COUNTS_MAX / h->n_moments;
	if (h->n_kept > h->n_used)
		h->n_kept = h->n_used;
	return 0;
}

/* --- writing --- */

/* Bytes are rounded so that they add up to the rounded total; variances are not. */
struct count_writer {
	bool variances;
	struct format_sum sum;
	FILE *out;
};

static void put_count(struct count_writer *w, double count)
{
	if (w->variances)
		fprintf(w->out, "%.5g", isfinite(count) ? count : 0);
	else
		fprintf(w->out, "%lld", (long long)format_round(&w->sum, count));
}

static void put_counts(const struct held *h, const struct html_stacks *stacks, size_t profile,
		       bool variances, FILE *out)
{
	const struct profile_series *s = h->page->series;
	double (*of)(const struct profile_series *, size_t, size_t) =
		variances ? profile_series_variance : profile_series_value;
	struct count_writer w = { .variances = variances, .out = out };
	double rest = 0;

	for (size_t i = 0; i < stacks->n;) {
		size_t end = html_same_end(stacks, i);
		double count = 0;

		html_put_comma(i, out);
		for (; i < end; i++)
			count += of(s, profile, (size_t)(stacks->v[i].stack - s->all.stacks));
		put_count(&w, count);
	}
	if (!stacks->rest)
		return;
	for (size_t i = 0; i < s->all.n_stacks; i++)
		rest += h->keep[i] ? 0 : of(s, profile, i);
	html_put_comma(stacks->n, out);
	put_count(&w, rest);
}

/* The time of a profile, in milliseconds since 1970. */
static void put_time(const struct series_page *page, size_t profile, FILE *out)
{
	if (page->start > 0)
		fprintf(out, "%.0f", (page->start + page->seconds[profile]) * 1000);
	else
		fputs("null", out);
}

static void put_numbers(const char *key, const double *v, size_t n, FILE *out)
{
	fprintf(out, "\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		html_put_comma(i, out);
		html_put_number(v[i], out);
	}
	fputs("]", out);
}

/* The number of its stack on the page; -1: not there by itself. */
static long stack_of(const struct profile_leak *leak, const struct held *h,
		     const struct html_stacks *stacks)
{
	long at = 0;

	if (leak->kind != PROFILE_LEAK_STACK)
		return -1;
	for (size_t i = 0; i < stacks->n; at++) {
		size_t end = html_same_end(stacks, i);

		for (; i < end; i++) {
			if (stacks->v[i].stack == &h->page->series->all.stacks[leak->stack])
				return at;
		}
	}
	return -1;
}

/* The frame of the function that allocates, or that is named; -1: none. */
static long frame_of(const struct profile_leak *leak, long stack, const struct html_stacks *stacks)
{
	uint32_t function = leak->line.function;
	size_t i = 0;

	if (stack >= 0) {
		for (; stack; stack--)
			i = html_same_end(stacks, i);
		return stacks->v[i].depth ? (long)stacks->v[i].frames[stacks->v[i].depth - 1] : -1;
	}
	for (; function != PROFILE_NONE && i < stacks->n_frames; i++) {
		if (stacks->names.rank[stacks->frames[i].function] == stacks->names.rank[function])
			return (long)i;
	}
	return -1;
}

static void put_text(const char *key, const char *safe, FILE *out)
{
	fprintf(out, "\"%s\":\"", key);
	format_escape(format_json, safe, out);
	fputs("\",", out);
}

static void put_growers(const struct held *h, const struct html_stacks *stacks, FILE *out)
{
	const struct series_page *page = h->page;

	fputs("\"growers\":[", out);
	for (size_t i = 0; i < page->n_growers; i++) {
		const struct series_grower *g = &page->growers[i];
		long stack = stack_of(g->leak, h, stacks);

		html_put_comma(i, out);
		fprintf(out, "\n{\"certain\":%s,\"stack\":%ld,\"function\":%ld,",
			g->certain ? "true" : "false", stack, frame_of(g->leak, stack, stacks));
		put_text("rate", g->rate, out);
		put_text("interval", g->interval, out);
		put_text("change", g->change, out);
		put_text("p", g->p, out);
		put_text("place", g->place, out);
		put_numbers("curve", page->found->curves + g->leak->curve, page->series->n, out);
		putc('}', out);
	}
	fputs("],\n", out);
}

static void put_series(const struct held *h, const struct html_stacks *stacks, FILE *out)
{
	const struct series_page *page = h->page;
	const struct profile_series *s = page->series;

	fprintf(out,
		"\"series\":{\"type\":\"%s\",\"left_out\":{\"stacks\":%zu,\"moments\":%zu},"
		"\n\"start_ms\":",
		format_types[s->type].name, h->n_used - h->n_kept, s->n - h->n_moments);
	put_time(page, 0, out);
	fputs(",\n\"summary\":[", out);
	for (size_t i = 0; page->summary[i]; i++) {
		html_put_comma(i, out);
		putc('"', out);
		format_escape(format_json, page->summary[i], out);
		putc('"', out);
	}
	fputs("],\n", out);
	put_numbers("seconds", page->seconds, s->n, out);
	fputs(",\n\"total\":[", out);
	for (size_t at = 0; at < s->n; at++) {
		double total = 0;

		for (size_t i = 0; i < s->all.n_stacks; i++)
			total += profile_series_value(s, at, i);
		html_put_comma(at, out);
		html_put_number(round(total), out);
	}
	fputs("],\n", out);
	put_growers(h, stacks, out);
	fputs("\"moments\":[", out);
	for (size_t i = 0; i < h->n_moments; i++) {
		html_put_comma(i, out);
		fprintf(out, "\n{\"at\":%zu,\"time_ms\":", h->moment[i]);
		put_time(page, h->moment[i], out);
		fputs(",\"value\":[", out);
		put_counts(h, stacks, h->moment[i], false, out);
		fputs("],\n\"variance\":[", out);
		put_counts(h, stacks, h->moment[i], true, out);
		fputs("]}", out);
	}
	fputs("]}", out);
}

static int put_data(const struct held *h, FILE *out, struct err *err)
{
	_cleanup_(html_stacks_fini) struct html_stacks stacks = { 0 };
	const struct profile *p = &h->page->series->all;

	memset(h->keep, 0, p->n_stacks * sizeof(*h->keep));
	for (size_t i = 0; i < h->n_kept; i++)
		h->keep[h->order[i]] = true;
	if (html_stacks_init(&stacks, p, h->keep, false, err))
		return -1;
	if (h->n_kept < h->n_used)
		stacks.rest = rest_name;
	html_put_facts(p, NULL, false, out);
	if (html_put_stacks(p, &stacks, out, err))
		return -1;
	put_series(h, &stacks, out);
	return 0;
}

/* --- the page --- */

static int put_bytes(const void *ctx, FILE *out, struct err *err)
{
	const char *const *data = ctx;

	(void)err;
	fputs(*data, out);
	return 0;
}

/* Retry with fewer stacks until the page fits: the size of names and calls is not known before. */
int series_page_write(const struct series_page *page, FILE *out, struct err *err)
{
	_cleanup_(close_held) struct held h = { .page = page };
	char what[64];

	if (hold(&h, err))
		return -1;
	snprintf(what, sizeof(what), "heap over %zu profiles", page->series->n);
	for (;; h.n_kept /= 2) {
		_cleanup_(cleanup_free) char *data = NULL;
		size_t len;
		FILE *memory = open_memstream(&data, &len);
		int failed = !memory || put_data(&h, memory, err);

		if (!memory || fclose(memory))
			return err_no_memory(err);
		if (failed)
			return -1;
		if (len <= SERIES_PAGE_MAX || !h.n_kept)
			return html_page(&page->series->all, NULL, what, put_bytes, &data, out,
					 err);
	}
}
