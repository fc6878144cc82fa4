// SPDX-License-Identifier: Apache-2.0
#include "profile/report.h"

#include "base/cleanup.h"
#include "base/ink.h"
#include "base/text.h"
#include "base/vec.h"
#include "profile/filter.h"
#include "profile/fit.h"
#include "profile/fold.h"
#include "profile/graph.h"
#include "profile/names.h"
#include "profile/symbols.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Shared by the reports. */

#define REPORT_AMOUNT_SIZE 32
#define REPORT_NAME_SIZE 17408

#define MIB 1048576.0

/* Columns before the names in a table, and before those of a stack. */
#define TABLE_MARGIN 54
#define STACK_MARGIN 19
#define TREE_MARGIN 47
#define EDGE_MARGIN 50
/* Calls of one stack on a line; fewer if the terminal is too narrow. */
#define CALLS_SHOWN 6
#define CALL_COLUMNS 32

/* Fractions of the total that are highlighted. */
#define LARGE 0.1
#define VERY_LARGE 0.33

const char *profile_type_name(enum profile_type type)
{
	static const char *const names[] = {
		[PROFILE_INUSE_OBJECTS] = "inuse_objects",
		[PROFILE_INUSE_SPACE] = "inuse_space",
		[PROFILE_ALLOC_OBJECTS] = "alloc_objects",
		[PROFILE_ALLOC_SPACE] = "alloc_space",
	};

	return names[type];
}

size_t profile_report_rows(const struct profile_table *table,
			   const struct profile_report_options *options)
{
	size_t max = options->node_count;

	return max && max < table->n_rows ? max : table->n_rows;
}

static bool is_bytes(enum profile_type type)
{
	return type == PROFILE_INUSE_SPACE || type == PROFILE_ALLOC_SPACE;
}

/* "12.3M", "-1.50MB", "17". Returns `buf`. */
const char *profile_report_amount(const struct profile_report_options *o, double amount, char *buf,
				  size_t size)
{
	static const char *const names[] = {
		[PROFILE_UNIT_B] = "B",
		[PROFILE_UNIT_KB] = "KB",
		[PROFILE_UNIT_MB] = "MB",
		[PROFILE_UNIT_GB] = "GB",
	};
	double magnitude = fabs(amount);
	char text[16];

	if (!is_bytes(o->type))
		snprintf(buf, size, "%.0f", amount);
	else if (o->unit == PROFILE_UNIT_AUTO)
		snprintf(buf, size, "%s%s", amount < 0 ? "-" : "",
			 text_size(magnitude < 0x1p63 ? (uint64_t)llround(magnitude) : UINT64_MAX,
				   text, sizeof(text)));
	else
		snprintf(buf, size, "%.*f%s", o->unit == PROFILE_UNIT_B ? 0 : 2,
			 amount / exp2(10 * (o->unit - PROFILE_UNIT_B)), names[o->unit]);
	return buf;
}

/* "12.3%", or "-" if the whole is 0. Returns `buf`. */
static const char *report_percent(double part, double whole, char *buf, size_t size)
{
	if (whole == 0)
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%.1f%%", part == 0 ? 0 : 100 * part / whole);
	return buf;
}

static const char *ink(const struct profile_report_options *o, const char *text)
{
	return o->color ? text : "";
}

/* The escape sequence that highlights a large part of the total. */
static const char *ink_of(const struct profile_report_options *o, double part, double whole)
{
	double share = whole != 0 ? fabs(part / whole) : 0;

	return ink(o, share >= VERY_LARGE ? INK_TEXT_RED : share >= LARGE ? INK_TEXT_BOLD : "");
}

static const char *ink_end(const struct profile_report_options *o, double part, double whole)
{
	return *ink_of(o, part, whole) ? INK_OFF : "";
}

/* A function's name, for a line with `margin` columns before it. Returns `buf`. */
static const char *report_name(const struct profile *p, const struct profile_report_options *o,
			       uint32_t function, size_t margin, char buf[REPORT_NAME_SIZE])
{
	char safe[REPORT_NAME_SIZE];

	output_safe(p->symbols->functions[function].name, safe, sizeof(safe));
	if (o->columns)
		return profile_name_fit(safe, o->columns > margin ? o->columns - margin : 0, buf,
					PROFILE_NAME_MAX);
	return strcpy(buf, safe);
}

/* ERR_OUTPUT: something could not be written. */
static int report_written(FILE *out, struct err *err)
{
	return ferror(out) ? err_raise_sys(err, ERROR_REPORT_UNWRITTEN, errno ? errno : EIO) : 0;
}

void profile_report_folded(const struct profile_report_options *o, FILE *out)
{
	char text[PROFILE_FOLD_TEXT_SIZE];

	if (o->n_folded)
		fprintf(out, "%s\n",
			profile_fold_text(o->n_folded, o->how_folded, text, sizeof(text)));
}

int64_t profile_report_ns(const struct profile *p)
{
	return p->facts.only_alloc_space && !p->difference ? p->facts.duration_ns : 0;
}

/* One line: what the profile is of, and the total. */
void profile_report_head(const struct profile *p, const struct profile_table *g,
			 const struct profile_report_options *o, FILE *out)
{
	char a[3][REPORT_AMOUNT_SIZE], comm[256], coverage[PROFILE_COVERAGE_SIZE];
	size_t n_stacks = p->difference ? g->n_stacks : p->n_stacks;
	double seconds = (double)profile_report_ns(p) / 1e9;

	fprintf(out, "%s", profile_type_name(o->type));
	if (p->facts.comm)
		fprintf(out, " of %s", output_safe(p->facts.comm, comm, sizeof(comm)));
	if (p->facts.pid)
		fprintf(out, " (%lld)", (long long)p->facts.pid);
	if (o->n_processes > 1)
		fprintf(out, ", %zu processes", o->n_processes);
	if (o->has_thread && o->thread_name)
		fprintf(out, ", thread %s", output_safe(o->thread_name, comm, sizeof(comm)));
	else if (o->has_thread)
		fprintf(out, ", thread %llu", (unsigned long long)o->thread);
	if (seconds > 0)
		fprintf(out, ", allocated in %.1f s", seconds);
	fprintf(out, ": %s ±%s", profile_report_amount(o, g->total, a[0], sizeof(a[0])),
		profile_report_amount(o, sqrt(g->variance), a[1], sizeof(a[1])));
	if (seconds > 0)
		fprintf(out, ", %s/s,",
			profile_report_amount(o, g->total / seconds, a[0], sizeof(a[0])));
	fprintf(out, " in %zu stack%s", n_stacks, n_stacks == 1 ? "" : "s");
	if (o->total != g->total)
		fprintf(out, ", of %s", profile_report_amount(o, o->total, a[2], sizeof(a[2])));
	if (p->period > 1 && !p->rates_differ)
		fprintf(out, "; one sample per %s", text_size(p->period, a[0], sizeof(a[0])));
	fputc('\n', out);
	if (p->difference)
		fprintf(out, "%% of the sum of all absolute changes: %s\n",
			profile_report_amount(o, g->whole, a[0], sizeof(a[0])));
	else if (o->coverage && o->type == PROFILE_INUSE_SPACE &&
		 profile_coverage_text(o->coverage, coverage))
		fprintf(out, "%s\n", coverage);
	if (o->memory)
		fprintf(out, "%s\n", o->memory);
}

static void row(const struct profile *p, const struct profile_table *g,
		const struct profile_report_options *o, const struct profile_row *node, double sum,
		FILE *out)
{
	double variance = o->by_cum ? node->cum_variance : node->flat_variance;
	char a[3][REPORT_AMOUNT_SIZE], percent[3][16], name[REPORT_NAME_SIZE];

	fprintf(out, "%s%10s %6s%s %6s %10s %6s %9s  %s\n", ink_of(o, node->flat, g->whole),
		profile_report_amount(o, node->flat, a[0], sizeof(a[0])),
		report_percent(node->flat, g->whole, percent[0], sizeof(percent[0])),
		ink_end(o, node->flat, g->whole),
		report_percent(sum, g->whole, percent[1], sizeof(percent[1])),
		profile_report_amount(o, node->cum, a[1], sizeof(a[1])),
		report_percent(node->cum, g->whole, percent[2], sizeof(percent[2])),
		profile_report_amount(o, sqrt(variance), a[2], sizeof(a[2])),
		report_name(p, o, node->function, TABLE_MARGIN, name));
}

/* The sum of the rows from number `first` on, which are left out. */
static void rest(const struct profile_table *g, const struct profile_report_options *o,
		 size_t first, FILE *out)
{
	char amount[REPORT_AMOUNT_SIZE], percent[16];
	double flat = 0;

	if (first == g->n_rows)
		return;
	for (size_t i = first; i < g->n_rows; i++)
		flat += g->rows[i].flat;
	fprintf(out, "%10s %6s  in %zu more %s; %s\n",
		profile_report_amount(o, flat, amount, sizeof(amount)),
		report_percent(flat, g->whole, percent, sizeof(percent)), g->n_rows - first,
		g->n_rows - first == 1 ? "row" : "rows", o->how_all);
}

/* --- stacks --- */

static size_t calls_of(const struct profile *p, const struct profile_table_stack *s,
		       struct profile_line *lines, size_t max)
{
	/* The allocator's calls have been removed by now, unless they are kept. */
	return profile_stack_lines(p, &p->stacks[s->stack], true, lines, max);
}

/* "a < b < c < ...": as many calls as fit. */
static void stack_calls(const struct profile *p, const struct profile_report_options *o,
			const struct profile_table_stack *s, FILE *out)
{
	static const char more[] = " < ...";
	struct profile_line lines[CALLS_SHOWN + 1];
	size_t n = calls_of(p, s, lines, CALLS_SHOWN + 1), used = STACK_MARGIN;

	for (size_t i = 0; i < n; i++) {
		char name[REPORT_NAME_SIZE], fitted[REPORT_NAME_SIZE];
		size_t columns, rest = i + 1 < n ? sizeof(more) - 1 : 0;

		report_name(p, o, lines[i].function, used + rest, name);
		if (o->columns)
			profile_name_fit(name, CALL_COLUMNS, fitted, sizeof(fitted));
		columns = text_columns(o->columns ? fitted : name) + (i ? 3 : 0);
		if (i == CALLS_SHOWN || (i && o->columns && used + columns + rest > o->columns)) {
			fputs(more, out);
			return;
		}
		fprintf(out, "%s%s", i ? " < " : "", o->columns ? fitted : name);
		used += columns;
	}
}

static void stack_amount(const struct profile_table *g, const struct profile_report_options *o,
			 const struct profile_table_stack *s, FILE *out)
{
	char amount[REPORT_AMOUNT_SIZE], percent[16];

	fprintf(out, "%s%10s %6s%s  ", ink_of(o, s->value, g->whole),
		profile_report_amount(o, s->value, amount, sizeof(amount)),
		report_percent(s->value, g->whole, percent, sizeof(percent)),
		ink_end(o, s->value, g->whole));
}

int profile_report_text(const struct profile *profile, struct profile_table *table,
			const struct profile_report_options *options, FILE *out, struct err *err)
{
	const char *error = options->by_cum ? "±cum" : "±flat";
	size_t rows = profile_report_rows(table, options), n;
	double sum = 0;

	profile_report_head(profile, table, options, out);
	fprintf(out, "%s%10s %6s %6s %10s %6s %9s  %s%s\n", ink(options, INK_TEXT_DIM), "flat",
		"flat%", "sum%", "cum", "cum%", error, options->column, ink(options, INK_OFF));
	for (size_t i = 0; i < rows; i++) {
		sum += table->rows[i].flat;
		row(profile, table, options, &table->rows[i], sum, out);
	}
	rest(table, options, rows, out);
	profile_report_folded(options, out);
	n = profile_table_top(table, PROFILE_REPORT_STACKS);
	if (n)
		fprintf(out, "\n%s%10s %6s  %s%s\n", ink(options, INK_TEXT_DIM), "stack", "%",
			n < table->n_different ? "the heaviest, innermost call first"
					       : "innermost call first",
			ink(options, INK_OFF));
	for (size_t i = 0; i < n; i++) {
		stack_amount(table, options, &table->stacks[i], out);
		stack_calls(profile, options, &table->stacks[i], out);
		fputc('\n', out);
	}
	return report_written(out, err);
}

int profile_report_traces(const struct profile *profile, struct profile_table *table,
			  const struct profile_report_options *options, FILE *out, struct err *err)
{
	_cleanup_(cleanup_free) struct profile_line *lines =
		calloc(PROFILE_DEPTH_MAX, sizeof(*lines));
	size_t n = profile_table_top(table, options->node_count);

	if (!lines)
		return err_no_memory(err);
	profile_report_head(profile, table, options, out);
	profile_report_folded(options, out);
	for (size_t i = 0; i < n; i++) {
		const struct profile_table_stack *s = &table->stacks[i];
		size_t depth = calls_of(profile, s, lines, PROFILE_DEPTH_MAX);

		fputc('\n', out);
		for (size_t j = 0; j < depth; j++) {
			char name[REPORT_NAME_SIZE];

			if (j)
				fprintf(out, "%*s", STACK_MARGIN, "");
			else
				stack_amount(table, options, s, out);
			fprintf(out, "%s\n",
				report_name(profile, options, lines[j].function, STACK_MARGIN,
					    name));
		}
	}
	if (n < table->n_different)
		fprintf(out, "\nand %zu more; %s\n", table->n_different - n, options->how_all);
	return report_written(out, err);
}

/* --- jeprof: Unparse(), Percent(), PrintText() --- */

static const char *unparse(const struct profile_report_options *o, double n, char *buf, size_t size)
{
	if (is_bytes(o->type) && o->unit != PROFILE_UNIT_B)
		snprintf(buf, size, "%.1f", n / MIB);
	else
		snprintf(buf, size, "%.0f", trunc(n) + 0.0);
	return buf;
}

static const char *percent_of(double n, double total, char *buf, size_t size)
{
	if (total != 0)
		snprintf(buf, size, "%.1f%%", n * 100.0 / total);
	else
		snprintf(buf, size, "%s", n == 0 ? "nan" : n > 0 ? "+inf" : "-inf");
	return buf;
}

int profile_report_jeprof(const struct profile *profile, const struct profile_table *table,
			  const struct profile_report_options *options, FILE *out, struct err *err)
{
	const char *units = !is_bytes(options->type)	      ? "objects"
			    : options->unit == PROFILE_UNIT_B ? "B"
							      : "MB";
	char total[REPORT_AMOUNT_SIZE];
	double sum = 0;
	size_t rows = profile_report_rows(table, options);

	if (options->total != 0) {
		fputs("Total", out);
		if (options->has_thread)
			fprintf(out, " (t%llu)", (unsigned long long)options->thread);
		fprintf(out, ": %s %s\n", unparse(options, options->total, total, sizeof(total)),
			units);
	}
	for (size_t i = 0; i < rows; i++) {
		const struct profile_row *node = &table->rows[i];
		const char *function = profile->symbols->functions[node->function].name;
		char a[2][REPORT_AMOUNT_SIZE], percent[3][32], name[REPORT_NAME_SIZE];

		sum += node->flat;
		if (node->flat == 0 && node->cum == 0)
			continue;
		fprintf(out, "%8s %6s %6s %8s %6s %s\n",
			unparse(options, node->flat, a[0], sizeof(a[0])),
			percent_of(node->flat, table->total, percent[0], sizeof(percent[0])),
			percent_of(sum, table->total, percent[1], sizeof(percent[1])),
			unparse(options, node->cum, a[1], sizeof(a[1])),
			percent_of(node->cum, table->total, percent[2], sizeof(percent[2])),
			output_safe(function, name, sizeof(name)));
	}
	return report_written(out, err);
}

/* --- callers and callees --- */

/* Each function between its callers and its callees. */

/* The edges on one side of each function, heaviest first. */
struct adjacency {
	size_t *first;	/* of function i: edge[first[i]] .. edge[first[i + 1]] */
	uint32_t *edge; /* indices of graph.edges */
};

static void close_adjacency(struct adjacency *a)
{
	free(a->first);
	free(a->edge);
}

static int adjacency_init(struct adjacency *a, const struct profile_graph *g, size_t n_functions,
			  bool callers, struct err *err)
{
	a->first = calloc(n_functions + 2, sizeof(*a->first));
	a->edge = calloc(g->n_edges + 1, sizeof(*a->edge));
	if (!a->first || !a->edge)
		return err_no_memory(err);
	/* Counted one index too high: filling advances each start to its final place. */
	for (size_t i = 0; i < g->n_edges; i++)
		a->first[(callers ? g->edges[i].to : g->edges[i].from) + 2]++;
	for (size_t i = 2; i < n_functions + 2; i++)
		a->first[i] += a->first[i - 1];
	for (size_t i = 0; i < g->n_edges; i++) {
		uint32_t f = callers ? g->edges[i].to : g->edges[i].from;

		a->edge[a->first[f + 1]++] = (uint32_t)i;
	}
	return 0;
}

struct tree {
	const struct profile *p;
	const struct profile_table *table;
	struct profile_names names;
	struct profile_paths paths;
	struct profile_graph graph;
	const struct profile_report_options *o;
	struct adjacency callers, callees;
	FILE *out;
};

static void close_tree(struct tree *t)
{
	close_adjacency(&t->callers);
	close_adjacency(&t->callees);
	profile_graph_fini(&t->graph);
	profile_paths_fini(&t->paths);
	profile_names_fini(&t->names);
}

static int by_weight(const void *a, const void *b)
{
	const struct profile_edge *x = a, *y = b;
	double p = fabs(x->weight), q = fabs(y->weight);

	if (p != q)
		return p > q ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static void edges(const struct tree *t, const struct profile_row *row, bool callers)
{
	const struct adjacency *a = callers ? &t->callers : &t->callees;
	/* In a difference, a function may be less than one of its calls. */
	double whole = t->p->difference ? t->table->whole : row->cum;

	for (size_t i = a->first[row->function]; i < a->first[row->function + 1]; i++) {
		const struct profile_edge *e = &t->graph.edges[a->edge[i]];
		char amount[REPORT_AMOUNT_SIZE], percent[16], name[REPORT_NAME_SIZE];
		uint32_t f = callers ? e->from : e->to;

		if (fabs(e->weight) < t->o->edge_fraction * t->table->whole)
			break;
		fprintf(t->out, "%38s %6s  %s %s\n",
			profile_report_amount(t->o, e->weight, amount, sizeof(amount)),
			report_percent(e->weight, whole, percent, sizeof(percent)),
			callers ? "<-" : "->", report_name(t->p, t->o, f, EDGE_MARGIN, name));
	}
}

static void one(const struct tree *t, const struct profile_row *row)
{
	char a[3][REPORT_AMOUNT_SIZE], percent[2][16], name[REPORT_NAME_SIZE];

	edges(t, row, true);
	fprintf(t->out, "%s%10s %6s%s %10s %6s %9s  %s\n", ink_of(t->o, row->flat, t->table->whole),
		profile_report_amount(t->o, row->flat, a[0], sizeof(a[0])),
		report_percent(row->flat, t->table->whole, percent[0], sizeof(percent[0])),
		ink(t->o, INK_OFF), profile_report_amount(t->o, row->cum, a[1], sizeof(a[1])),
		report_percent(row->cum, t->table->whole, percent[1], sizeof(percent[1])),
		profile_report_amount(t->o,
				      sqrt(t->o->by_cum ? row->cum_variance : row->flat_variance),
				      a[2], sizeof(a[2])),
		report_name(t->p, t->o, row->function, TREE_MARGIN, name));
	edges(t, row, false);
	fprintf(t->out, "\n");
}

static void head(const struct tree *t)
{
	profile_report_head(t->p, t->table, t->o, t->out);
	profile_report_folded(t->o, t->out);
	fprintf(t->out, "%s%10s %6s %10s %6s %9s  %s%s\n\n", ink(t->o, INK_TEXT_DIM), "flat",
		"flat%", "cum", "cum%", t->o->by_cum ? "±cum" : "±flat", t->o->column,
		ink(t->o, INK_OFF));
}

static int peek_at(const struct tree *t, const char *peek, struct err *err)
{
	_cleanup_(regex_close) struct regex *re = NULL;
	size_t found = 0;

	if (regex_new("peek", peek, &re, err))
		return -1;
	for (size_t i = 0; i < t->table->n_rows; i++) {
		const struct profile_row *row = &t->table->rows[i];

		if (!regex_matches_name(re, t->p->symbols->functions[row->function].name))
			continue;
		if (!found++)
			head(t);
		one(t, row);
	}
	if (regex_check(re, err))
		return -1;
	return found ? 0 : err_raise(err, ERROR_NO_MATCH, .text = peek);
}

int profile_report_tree(const struct profile *profile, const struct profile_table *table,
			const struct profile_report_options *options, const char *peek, FILE *out,
			struct err *err)
{
	_cleanup_(close_tree) struct tree t = {
		.p = profile, .table = table, .o = options, .out = out
	};
	size_t n = profile->symbols->n_functions;

	/* The allocator's calls have been removed by now, unless they are kept. */
	if (profile_names_init(&t.names, profile->symbols, err) ||
	    profile_paths_init(&t.paths, profile, &t.names, true, err) ||
	    profile_graph_init(&t.graph, &t.paths, n, options->type, NULL, err))
		return -1;
	vec_sort(t.graph.edges, t.graph.n_edges, by_weight);
	if (adjacency_init(&t.callers, &t.graph, n, true, err) ||
	    adjacency_init(&t.callees, &t.graph, n, false, err))
		return -1;
	if (peek)
		return peek_at(&t, peek, err) ? -1 : report_written(out, err);
	head(&t);
	for (size_t i = 0; i < profile_report_rows(table, options); i++)
		one(&t, &table->rows[i]);
	return report_written(out, err);
}
