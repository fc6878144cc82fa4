// SPDX-License-Identifier: Apache-2.0
#include "profile/list.h"

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "base/ink.h"
#include "base/text.h"
#include "base/vec.h"
#include "profile/filter.h"
#include "profile/symbols.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AROUND 4       /* source lines shown before and after one that allocates */
#define LINE_SHOWN 512 /* bytes shown of a line */
#define NAME_SIZE 17408

/* One line of a function; line 0 is the whole function. */
struct line {
	uint32_t function, line, mapping;
	double flat, cum;
	size_t round; /* last stack that counted for its cum, + 1 */
};

struct list {
	const struct profile *p;
	enum profile_type type;
	/* Of each function: the first one with its name and file; PROFILE_NONE: no match. */
	uint32_t *group;
	struct line *v;
	size_t n, room;
	struct hashmap at;
	double whole; /* the total for percentages */
};

static void close_list(struct list *l)
{
	free(l->group);
	free(l->v);
	hashmap_fini(&l->at);
}

/* --- counting --- */

static int match(struct list *l, const char *pattern, struct err *err)
{
	const struct profile_symbols *s = l->p->symbols;
	_cleanup_(regex_close) struct regex *re = NULL;
	_cleanup_(hashmap_fini) struct hashmap seen = { 0 };
	size_t found = 0;

	l->group = malloc((s->n_functions + 1) * sizeof(*l->group));
	if (!l->group)
		return err_no_memory(err);
	if (regex_new("list", pattern, &re, err))
		return -1;
	for (uint32_t i = 0; i < s->n_functions; i++) {
		const struct profile_function *f = &s->functions[i];
		const uintptr_t key[] = { (uintptr_t)f->name, (uintptr_t)f->file };
		uint64_t hash = hashmap_hash(key, sizeof(key), 0);

		l->group[i] = PROFILE_NONE;
		if (!regex_matches_name(re, f->name))
			continue;
		found++;
		l->group[i] = hashmap_find(&seen, hash, NULL, NULL);
		if (l->group[i] == HASHMAP_NONE && !hashmap_add(&seen, hash, l->group[i] = i))
			return err_no_memory(err);
	}
	if (regex_check(re, err))
		return -1;
	return found ? 0 : err_raise(err, ERROR_NO_MATCH, .text = pattern);
}

static bool count(struct list *l, size_t stack, uint32_t function, uint32_t line, uint32_t mapping,
		  bool innermost)
{
	double value = l->p->stacks[stack].value[l->type];
	uint64_t key = (uint64_t)function << 32 | line;
	uint32_t i = hashmap_get(&l->at, key);
	struct line *at;

	if (i == HASHMAP_NONE) {
		i = (uint32_t)l->n;
		if (!vec_grow(l->v, l->room, l->n) || !hashmap_put(&l->at, key, i))
			return false;
		l->v[l->n++] = (struct line){ function, line, PROFILE_NONE, 0, 0, 0 };
	}
	at = &l->v[i];
	at->mapping = mapping;
	at->flat += innermost ? value : 0;
	at->cum += at->round != stack + 1 ? value : 0;
	at->round = stack + 1;
	return true;
}

static bool count_stack(struct list *l, size_t stack)
{
	const struct profile_symbols *s = l->p->symbols;
	const struct profile_stack *at = &l->p->stacks[stack];
	bool innermost = true;

	for (uint32_t i = 0; i < at->depth; i++) {
		uint32_t address = l->p->frames[at->first + i];
		const struct profile_location *where = &s->locations[address];

		for (uint32_t j = 0; j < where->n; j++, innermost = false) {
			const struct profile_line *line = &s->lines[where->first + j];
			uint32_t group = l->group[line->function];
			uint32_t mapping = l->p->addresses[address].mapping;

			if (group != PROFILE_NONE &&
			    (!count(l, stack, group, 0, mapping, innermost) ||
			     (line->line &&
			      !count(l, stack, group, line->line, mapping, innermost))))
				return false;
		}
	}
	return true;
}

/* --- writing --- */

/* By file and name; each function before its lines, in ascending order. */
static int by_place(const void *a, const void *b, void *lines_of)
{
	const struct line *x = a, *y = b;
	const struct list *l = lines_of;

	if (x->function != y->function) {
		const struct profile_function *f = &l->p->symbols->functions[x->function];
		const struct profile_function *g = &l->p->symbols->functions[y->function];
		int order = f->file && g->file ? strcmp(f->file, g->file) : !f->file - !g->file;

		if (!order)
			order = strcmp(f->name, g->name);
		return order ? order : x->function < y->function ? -1 : 1;
	}
	return x->line < y->line ? -1 : x->line > y->line;
}

struct writing {
	const struct list *l;
	const struct profile_report_options *o;
	FILE *out;
	const char *next; /* the source from line `at` on; NULL: none */
	const char *text, *end;
	uint32_t at;
	const char *file, *indexed, *indexed_end; /* the text whose lines are indexed in `starts` */
	uint32_t *starts;
	size_t n_starts, room;
};

static void close_writing(struct writing *w)
{
	free(w->starts);
}

/* Files may be long and have many functions: find the lines once. */
static int index_lines(struct writing *w, const char *file, struct err *err)
{
	if (w->file && !strcmp(w->file, file) && w->indexed == w->text && w->indexed_end == w->end)
		return 0;
	w->file = file;
	w->indexed = w->text;
	w->indexed_end = w->end;
	w->n_starts = 0;
	for (const char *at = w->text; at && at < w->end;) {
		const char *end = memchr(at, '\n', (size_t)(w->end - at));

		if (!vec_grow(w->starts, w->room, w->n_starts))
			return err_no_memory(err);
		w->starts[w->n_starts++] = (uint32_t)(at - w->text);
		at = end ? end + 1 : w->end;
	}
	return 0;
}

/* Go to line `to`, which may not exist. */
static void seek_line(struct writing *w, uint32_t to)
{
	w->at = to;
	w->next = w->text && to && to <= w->n_starts ? w->text + w->starts[to - 1] : NULL;
}

static const char *amount(const struct writing *w, double value, char buf[32])
{
	return value == 0 ? "." : profile_report_amount(w->o, value, buf, 32);
}

static void write_line(const struct writing *w, const struct line *line, uint32_t number,
		       const char *text, size_t len)
{
	char flat[32], cum[32], raw[LINE_SHOWN + 1], safe[4 * LINE_SHOWN + 1];
	size_t at = 0;

	for (size_t i = 0; i < len && at < LINE_SHOWN; i++) {
		if (text[i] == '\t')
			do
				raw[at++] = ' ';
			while (at % 8 && at < LINE_SHOWN);
		else if (text[i] != '\r' && text[i])
			raw[at++] = text[i];
	}
	raw[at] = '\0';
	fprintf(w->out, "%10s %10s %6u%s%s\n", amount(w, line ? line->flat : 0, flat),
		amount(w, line ? line->cum : 0, cum), number, at ? "  " : "",
		output_safe(raw, safe, sizeof(safe)));
}

static void write_text(struct writing *w, const struct line *line)
{
	const char *end = memchr(w->next, '\n', (size_t)(w->end - w->next));

	write_line(w, line, w->at, w->next, (size_t)((end ? end : w->end) - w->next));
	seek_line(w, w->at + 1);
}

/* Write the source lines `from` to `to` - 1. */
static void write_source(struct writing *w, uint32_t from, uint32_t to)
{
	if (w->next && w->at < from && w->at > 1 && from < to)
		fprintf(w->out, "%28s\n", "...");
	if (w->at < from)
		seek_line(w, from);
	while (w->next && w->at < to)
		write_text(w, NULL);
}

static void write_head(const struct writing *w, const struct line *f,
		       const struct profile_source *source)
{
	const struct profile_function *function = &w->l->p->symbols->functions[f->function];
	char flat[32], cum[32], name[NAME_SIZE], file[NAME_SIZE] = "";
	double share = w->l->whole != 0 ? 100 * f->cum / w->l->whole : 0;

	output_safe(function->name, name, sizeof(name));
	output_safe(function->file ? function->file : "", file, sizeof(file));
	fprintf(w->out, "\n%s%s%s%s%s: flat %s, cum %s (%.1f%%)\n",
		w->o->color ? INK_TEXT_BOLD : "", name, w->o->color ? INK_OFF : "",
		*file ? " in " : "", file, profile_report_amount(w->o, f->flat, flat, sizeof(flat)),
		profile_report_amount(w->o, f->cum, cum, sizeof(cum)), share);
	if (!source->text)
		fprintf(w->out, "no source: %s\n", source->why);
	else if (source->newer)
		fprintf(w->out, "the source is newer than the program: its lines may differ\n");
	fprintf(w->out, "%s%10s %10s %6s%s\n", w->o->color ? INK_TEXT_DIM : "", "flat", "cum",
		"line", w->o->color ? INK_OFF : "");
}

/* Write one function and the lines after it, `last` in all. */
static int write_function(struct writing *w, const struct line *v, size_t last,
			  profile_source_fn *find, void *ctx, struct err *err)
{
	const char *file = w->l->p->symbols->functions[v->function].file;
	struct profile_source source = { .why = "debug data names no file" };

	if (file)
		find(ctx, file, v->mapping, &source);
	write_head(w, v, &source);
	w->text = source.text;
	w->end = source.text ? source.text + source.len : NULL;
	if (file && index_lines(w, file, err))
		return -1;
	seek_line(w, 1);
	for (size_t i = 1; i < last; i++) {
		uint32_t from = v[i].line > AROUND ? v[i].line - AROUND : 1;

		if (i > 1 && from < v[i - 1].line + AROUND + 1)
			from = v[i - 1].line + 1;
		if (i > 1 && from > v[i - 1].line + 1)
			write_source(w, v[i - 1].line + 1, v[i - 1].line + AROUND + 1);
		write_source(w, from, v[i].line);
		seek_line(w, v[i].line);
		/* A line that no longer exists is shown without its text. */
		if (w->next)
			write_text(w, &v[i]);
		else
			write_line(w, &v[i], v[i].line, "", 0);
	}
	if (last > 1)
		write_source(w, v[last - 1].line + 1, v[last - 1].line + AROUND + 1);
	return 0;
}

int profile_list(const struct profile *profile, const struct profile_table *table,
		 const char *pattern, const struct profile_report_options *options,
		 profile_source_fn *source, void *ctx, FILE *out, struct err *err)
{
	_cleanup_(close_list) struct list l = { .p = profile,
						.type = options->type,
						.whole = table->whole };
	_cleanup_(close_writing) struct writing w = { .l = &l, .o = options, .out = out };

	if (match(&l, pattern, err))
		return -1;
	for (size_t i = 0; i < profile->n_stacks; i++)
		if (!count_stack(&l, i))
			return err_no_memory(err);
	/* Only names that are still in some stack count. */
	if (!l.n)
		return err_raise(err, ERROR_NO_MATCH, .text = pattern);
	vec_sort_with(l.v, l.n, by_place, &l);
	profile_report_head(profile, table, options, out);
	profile_report_folded(options, out);
	for (size_t i = 0, last; i < l.n; i = last) {
		for (last = i + 1; last < l.n && l.v[last].function == l.v[i].function;)
			last++;
		if (write_function(&w, &l.v[i], last - i, source, ctx, err))
			return -1;
	}
	return ferror(out) ? err_raise_sys(err, ERROR_REPORT_UNWRITTEN, errno ? errno : EIO) : 0;
}
