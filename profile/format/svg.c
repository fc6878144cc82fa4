// SPDX-License-Identifier: Apache-2.0
/*
 * A flame graph as one SVG file: a row for each depth, with the outermost call at the top, and
 * widths proportional to what was allocated within. It loads nothing, and works without its script.
 */
#include "profile/format/private.h"
#include "profile/profile.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define WIDTH 1200u
#define ROW 16u
#define TOP 58u
#define LETTER 6.7
/* Part of the total; narrower frames are left out, which the graph says. */
#define LEAST 0.001

/* web/svg.js, linked in as it is. */
extern const char _binary_svg_js_start[], _binary_svg_js_end[];

/* A call that is open at this point of the pass over the paths. */
struct open_frame {
	uint32_t function;
	double start, variance; /* totals before it */
};

struct flame {
	const struct format_stacks *stacks;
	const struct profile_symbols *symbols;
	enum profile_type type;
	double total, at, variance; /* `at`, `variance`: of the paths so far */
	double shrunk;
	struct open_frame *open;
	uint32_t n_open;
	uint32_t deepest;
	size_t left_out;
	FILE *out; /* NULL: only measure */
};

/* As much of `name` as fits; the script does the same when zooming. */
static void write_label(const char *name, double width, FILE *out)
{
	size_t fits = width > 6 ? (size_t)((width - 6) / LETTER) : 0, letters = 0, end = 0;
	char label[1024];

	if (fits < 3)
		return;
	for (size_t i = 0; name[i]; i++) {
		if ((name[i] & 0xc0) == 0x80)
			continue;
		if (++letters == fits - 1)
			end = i;
		if (letters > fits)
			break;
	}
	if (letters <= fits)
		end = strlen(name);
	memcpy(label, name, end);
	strcpy(label + end, letters > fits ? ".." : "");
	format_escape(format_xml, label, out);
}

static void write_frame(const struct flame *f, const char *name, uint32_t function, uint32_t row,
			const struct open_frame *frame)
{
	double value = f->at - frame->start, width = value / f->total * WIDTH;
	double error = sqrt(fmax(f->variance - frame->variance, 0));
	double x = frame->start / f->total * WIDTH;
	char amount[24], by[24];
	uint32_t hash = 2166136261;

	fputs("<g class=\"f\"><title>", f->out);
	format_escape(format_xml, name, f->out);
	fprintf(f->out, "\n%s", format_amount(f->type, value, amount, sizeof(amount)));
	if (error >= 1)
		fprintf(f->out, " \302\261 %s", format_amount(f->type, error, by, sizeof(by)));
	fprintf(f->out,
		" (%.2f %%)</title><rect x=\"%.3f\" y=\"%u\" width=\"%.3f\" height=\"%u\" fill=\"",
		value / f->total * 100, x, TOP + row * ROW, width, ROW - 1);
	/* A warm color for each name; gray if there is none. */
	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619;
	if (function == PROFILE_NONE)
		fputs("hsl(45,60%,80%)", f->out);
	else if (!f->symbols->functions[function].known)
		fprintf(f->out, "hsl(0,0%%,%u%%)", 72 + hash % 12);
	else if (f->symbols->functions[function].allocator)
		fprintf(f->out, "hsl(200,60%%,%u%%)", 66 + hash % 12);
	else
		fprintf(f->out, "hsl(%u,%u%%,%u%%)", hash % 50, 70 + (hash >> 8) % 25,
			62 + (hash >> 16) % 14);
	fprintf(f->out, "\"/><text x=\"%.3f\" y=\"%u\">", x + 3, TOP + row * ROW + 11);
	write_label(name, width, f->out);
	fputs("</text></g>\n", f->out);
}

/* Close the calls deeper than `depth`. */
static void close_frames(struct flame *f, uint32_t depth)
{
	while (f->n_open > depth) {
		const struct open_frame *frame = &f->open[--f->n_open];

		if (f->at - frame->start < LEAST * f->total) {
			f->left_out++;
			continue;
		}
		if (f->n_open + 1 > f->deepest)
			f->deepest = f->n_open + 1;
		if (f->out)
			write_frame(f, f->stacks->names.name[frame->function], frame->function,
				    f->n_open + 1, frame);
	}
}

/* One pass over the paths, to measure or to draw. Paths that shrank have no width. */
static void draw(struct flame *f)
{
	const struct profile_path *before = NULL;

	f->at = f->variance = 0;
	f->left_out = 0;
	for (size_t i = 0; i < f->stacks->paths.n; i++) {
		const struct profile_path *path = &f->stacks->paths.v[i];

		if (!(path->value[f->type] > 0) || !isfinite(path->value[f->type]))
			continue;
		close_frames(f, before ? profile_path_common(before, path) : 0);
		while (f->n_open < path->depth) {
			f->open[f->n_open] = (struct open_frame){ path->function[f->n_open], f->at,
								  f->variance };
			f->n_open++;
		}
		f->at += path->value[f->type];
		f->variance += path->variance[f->type];
		before = path;
	}
	close_frames(f, 0);
}

static void write_text(FILE *out, int x, unsigned int y, const char *attributes, const char *raw)
{
	fprintf(out, "<text x=\"%d\" y=\"%u\"%s>", x, y, attributes);
	format_raw(format_xml, raw, out);
	fputs("</text>\n", out);
}

/* "pid 42, host a, jemalloc 5.3.0, one sample in 512.0K, 2026-01-02 03:04:05 UTC" */
static void write_facts(const struct profile *p, FILE *out)
{
	const struct profile_facts *facts = &p->facts;
	time_t seconds = (time_t)(facts->time_ns / 1000000000);
	char line[1024], rate[24], when[32] = "", pid[32] = "";
	struct tm tm;

	if (facts->time_ns > 0 && gmtime_r(&seconds, &tm))
		strftime(when, sizeof(when), ", %Y-%m-%d %H:%M:%S UTC", &tm);
	if (facts->pid > 0)
		snprintf(pid, sizeof(pid), "pid %lld, ", (long long)facts->pid);
	snprintf(line, sizeof(line), "%s%s%.64s%s%.200s%sone sample in %s%s", pid,
		 facts->host ? "host " : "", facts->host ? facts->host : "",
		 facts->version ? ", jemalloc " : "", facts->version ? facts->version : "",
		 facts->host || facts->version ? ", " : "",
		 format_amount(PROFILE_INUSE_SPACE, (double)p->period, rate, sizeof(rate)), when);
	write_text(out, 8, 34, " class=\"s\"", line);
}

static void write_head(const struct flame *f, const struct profile *p,
		       const struct profile_format_options *options, unsigned int height)
{
	char line[1024], amount[24];
	int n = snprintf(line, sizeof(line), "%.600s", format_title(p, options));

	n = n < 600 ? n : 600;
	n += snprintf(line + n, sizeof(line) - (size_t)n, ": %s%s %s",
		      p->difference ? "growth of " : "", format_types[f->type].name,
		      format_amount(f->type, f->total, amount, sizeof(amount)));
	if (f->shrunk > 0)
		snprintf(line + n, sizeof(line) - (size_t)n, "; what shrank, by %s, is not shown",
			 format_amount(f->type, f->shrunk, amount, sizeof(amount)));
	fprintf(f->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		"viewBox=\"0 0 %u %u\">\n"
		"<style>\n"
		"text{font:11px monospace;fill:#111;pointer-events:none}\n"
		".t{font:bold 14px sans-serif}.s{font:12px sans-serif}\n"
		".f{cursor:pointer}.f:hover rect{stroke:#000}.f.hit rect{fill:#d0f}.f.hit "
		"text{fill:#fff}\n"
		"#reset{fill:#03c;cursor:pointer;display:none;pointer-events:auto}\n"
		"</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		WIDTH, height, WIDTH, height);
	write_text(f->out, 8, 18, " class=\"t\"", line);
	write_facts(p, f->out);
	write_text(f->out, (int)WIDTH - 300, 22, " id=\"reset\" class=\"s\"", "zoom out");
}

int format_svg(const struct profile *profile, const struct profile_format_options *options,
	       FILE *out, struct err *err)
{
	static const struct open_frame root = { PROFILE_NONE, 0, 0 };
	_cleanup_(format_stacks_fini) struct format_stacks stacks = { 0 };
	_cleanup_(cleanup_free) struct open_frame *open = calloc(PROFILE_DEPTH_MAX, sizeof(*open));
	struct flame f = {
		.stacks = &stacks, .symbols = profile->symbols, .type = options->type, .open = open
	};
	unsigned int height;
	char line[128];

	if (!open)
		return err_no_memory(err);
	if (format_stacks_init(&stacks, profile, options, err))
		return -1;
	for (size_t i = 0; i < stacks.paths.n; i++) {
		if (!isfinite(stacks.paths.v[i].value[f.type]))
			continue;
		f.total += fmax(stacks.paths.v[i].value[f.type], 0);
		f.shrunk += fmax(-stacks.paths.v[i].value[f.type], 0);
	}
	draw(&f);
	height = TOP + (f.deepest + 1) * ROW + 28;
	f.out = out;
	write_head(&f, profile, options, height);
	if (f.total > 0) {
		draw(&f);
		write_frame(&f, "all", PROFILE_NONE, 0, &root);
	}
	write_text(out, 8, 51, " id=\"status\"", "");
	if (f.left_out) {
		snprintf(line, sizeof(line), "%zu frames below %.1f %% are left out", f.left_out,
			 LEAST * 100);
		write_text(out, 8, height - 8, " class=\"s\"", line);
	}
	fputs("<script><![CDATA[\n\"use strict\";\n", out);
	fwrite(_binary_svg_js_start, 1, format_embedded(_binary_svg_js_start, _binary_svg_js_end),
	       out);
	fputs("]]></script>\n</svg>\n", out);
	return 0;
}
