// SPDX-License-Identifier: Apache-2.0
/* Each function between those that called it and those that it called. */
#include "base/cleanup.h"
#include "base/text.h"
#include "profile/filter.h"
#include "profile/graph.h"
#include "profile/names.h"
#include "profile/report_private.h"
#include "profile/symbols.h"

#include <math.h>
#include <stdlib.h>

/* The edges at one end of each function, the heaviest first. */
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
		return err_set(err, ERR_FAILED, "no memory for the report");
	/* Counted one place too high: filling moves each start up to where it belongs. */
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

static int find_edges(struct tree *t, struct err *err)
{
	size_t n = t->p->symbols->n_functions;

	/* The allocator's calls are gone by now, unless they were to stay. */
	if (profile_names_init(&t->names, t->p->symbols, err) ||
	    profile_paths_init(&t->paths, t->p, &t->names, true, err) ||
	    profile_graph_init(&t->graph, &t->paths, n, t->o->type, NULL, err))
		return -1;
	if (t->graph.n_edges)
		qsort(t->graph.edges, t->graph.n_edges, sizeof(*t->graph.edges), by_weight);
	return adjacency_init(&t->callers, &t->graph, n, true, err) ||
			       adjacency_init(&t->callees, &t->graph, n, false, err)
		       ? -1
		       : 0;
}

static void edges(const struct tree *t, const struct profile_row *row, bool callers)
{
	const struct adjacency *a = callers ? &t->callers : &t->callees;

	for (size_t i = a->first[row->function]; i < a->first[row->function + 1]; i++) {
		const struct profile_edge *e = &t->graph.edges[a->edge[i]];
		char amount[REPORT_AMOUNT_SIZE], percent[16], name[REPORT_NAME_SIZE];
		uint32_t f = callers ? e->from : e->to;

		if (fabs(e->weight) < t->o->edge_fraction * fabs(t->table->total))
			break;
		fprintf(t->out, "%38s %6s  %s %s\n",
			report_amount(t->o, e->weight, amount, sizeof(amount)),
			report_percent(e->weight, row->cum, percent, sizeof(percent)),
			callers ? "<-" : "->",
			output_safe(t->p->symbols->functions[f].name, name, sizeof(name)));
	}
}

static void one(const struct tree *t, const struct profile_row *row)
{
	char a[3][REPORT_AMOUNT_SIZE], percent[2][16], name[REPORT_NAME_SIZE];

	edges(t, row, true);
	fprintf(t->out, "%10s %6s %10s %6s %9s  %s\n",
		report_amount(t->o, row->flat, a[0], sizeof(a[0])),
		report_percent(row->flat, t->table->total, percent[0], sizeof(percent[0])),
		report_amount(t->o, row->cum, a[1], sizeof(a[1])),
		report_percent(row->cum, t->table->total, percent[1], sizeof(percent[1])),
		report_amount(t->o, sqrt(t->o->by_cum ? row->cum_variance : row->flat_variance),
			      a[2], sizeof(a[2])),
		output_safe(t->p->symbols->functions[row->function].name, name, sizeof(name)));
	edges(t, row, false);
	fprintf(t->out, "\n");
}

static void head(const struct tree *t)
{
	report_head(t->p, t->table, t->o, t->out);
	fprintf(t->out, "%10s %6s %10s %6s %9s  %s\n\n", "flat", "flat%", "cum", "cum%",
		t->o->by_cum ? "±cum" : "±flat", t->o->column);
}

static int peek_at(const struct tree *t, const char *peek, struct err *err)
{
	_cleanup_(regex_close) struct regex *re = NULL;
	char safe[256];
	size_t found = 0;

	if (regex_new("peek", peek, &re, err))
		return -1;
	for (size_t i = 0; i < t->table->n_rows; i++) {
		const struct profile_row *row = &t->table->rows[i];

		if (!regex_matches(re, t->p->symbols->functions[row->function].name))
			continue;
		if (!found++)
			head(t);
		one(t, row);
	}
	if (regex_check(re, err))
		return -1;
	return found ? 0
		     : err_set(err, ERR_FAILED, "no function matches %s",
			       output_safe(peek, safe, sizeof(safe)));
}

int profile_report_tree(const struct profile *profile, const struct profile_table *table,
			const struct profile_report_options *options, const char *peek, FILE *out,
			struct err *err)
{
	_cleanup_(close_tree) struct tree t = {
		.p = profile, .table = table, .o = options, .out = out
	};

	if (find_edges(&t, err))
		return -1;
	if (peek)
		return peek_at(&t, peek, err) ? -1 : report_written(out, err);
	head(&t);
	for (size_t i = 0; i < profile_report_rows(table, options); i++)
		one(&t, &table->rows[i]);
	return report_written(out, err);
}
