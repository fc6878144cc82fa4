// SPDX-License-Identifier: Apache-2.0
/*
 * The call graph, for dot(1) of Graphviz: the functions that allocate most, including their
 * callees, as drawn by jeprof(1) and pprof. The text size shows what a function allocated itself,
 * the red of its box what it and its callees did.
 */
#include "base/vec.h"
#include "profile/format/private.h"
#include "profile/graph.h"

#include <math.h>
#include <string.h>

#define NODES 80
#define NODE_FRACTION 0.005
#define EDGE_FRACTION 0.001
#define LABEL_MAX 80

static const struct format_escape dot_text[] = {
	{ '"', "\\\"" }, { '\\', "\\\\" }, { '&', "&amp;" }, { '<', "&lt;" }, { 0, NULL }
};

struct dot {
	const struct format_stacks *stacks;
	enum profile_type type;
	double size;
	FILE *out;
};

static int by_cum(const void *left, const void *right)
{
	const struct profile_node *a = left, *b = right;

	if (fabs(a->cum) != fabs(b->cum))
		return fabs(a->cum) > fabs(b->cum) ? -1 : 1;
	return a->function < b->function ? -1 : a->function > b->function;
}

static double share(const struct dot *d, double amount)
{
	return d->size > 0 ? fabs(amount) / d->size : 0;
}

static void write_amount(const struct dot *d, double amount)
{
	char text[24];

	fprintf(d->out, "%s (%.1f%%)", format_amount(d->type, amount, text, sizeof(text)),
		share(d, amount) * 100);
}

static void write_node(const struct dot *d, const struct profile_node *node)
{
	const char *name = d->stacks->names.name[node->function];
	size_t len = strlen(name);
	char label[LABEL_MAX + 4];

	/* Long names are cut in the box, and complete in its tooltip. */
	if (len > LABEL_MAX) {
		len = LABEL_MAX;
		while (len && (name[len] & 0xc0) == 0x80)
			len--;
	}
	snprintf(label, sizeof(label), "%.*s%s", (int)len, name, name[len] ? "..." : "");
	fprintf(d->out, "N%u [label=\"", node->function);
	format_escape(dot_text, label, d->out);
	fputs("\\n", d->out);
	if (node->flat != 0) {
		write_amount(d, node->flat);
		fputs(node->flat == node->cum ? "" : "\\nof ", d->out);
	}
	if (node->flat != node->cum)
		write_amount(d, node->cum);
	fprintf(d->out, "\" fontsize=%.1f fillcolor=\"%.3f %.3f 1.000\" tooltip=\"",
		8 + 42 * sqrt(share(d, node->flat)), node->cum < 0 ? 0.58 : 0.02,
		0.6 * sqrt(share(d, node->cum)));
	format_escape(dot_text, name, d->out);
	fputs("\"]\n", d->out);
}

static void write_legend(const struct dot *d, const struct profile *p, double total, size_t shown,
			 size_t all, const struct profile_format_options *options)
{
	char text[24];

	fputs("digraph \"", d->out);
	format_raw(dot_text, format_title(p, options), d->out);
	fputs("\" {\nnode [style=filled fontname=\"sans-serif\" shape=box fillcolor=\"#f8f8f8\"]\n"
	      "edge [fontname=\"sans-serif\" fontsize=9]\nLegend [fontsize=12 shape=note label=\"",
	      d->out);
	format_raw(dot_text, format_title(p, options), d->out);
	fprintf(d->out, "\\l%s %s\\l%zu of %zu functions shown\\l\"]\n", format_types[d->type].name,
		format_amount(d->type, total, text, sizeof(text)), shown, all);
}

int format_dot(const struct profile *profile, const struct profile_format_options *options,
	       FILE *out, struct err *err)
{
	size_t most = options->node_count ? options->node_count : NODES, n = 0, called = 0;
	double node_least = options->node_fraction > 0 ? options->node_fraction : NODE_FRACTION;
	double edge_least = options->edge_fraction > 0 ? options->edge_fraction : EDGE_FRACTION;
	_cleanup_(format_stacks_fini) struct format_stacks stacks = { 0 };
	_cleanup_(profile_graph_fini) struct profile_graph all = { 0 }, shown = { 0 };
	_cleanup_(cleanup_free) bool *keep = NULL;
	struct dot d = { .stacks = &stacks, .type = options->type, .out = out };

	if (format_stacks_init(&stacks, profile, options, err) ||
	    profile_graph_init(&all, &stacks.paths, stacks.names.n, d.type, NULL, err))
		return -1;
	keep = calloc(stacks.names.n + 1, sizeof(*keep));
	if (!keep)
		return err_no_memory(err);
	d.size = all.size;
	vec_sort(all.nodes, all.n_nodes, by_cum);
	while (n < all.n_nodes && n < most && fabs(all.nodes[n].cum) > 0 &&
	       fabs(all.nodes[n].cum) >= node_least * all.size)
		keep[all.nodes[n++].function] = true;
	if (profile_graph_init(&shown, &stacks.paths, stacks.names.n, d.type, keep, err))
		return -1;
	for (size_t i = 0; i < all.n_nodes; i++)
		called += all.nodes[i].cum != 0;
	write_legend(&d, profile, all.total, n, called, options);
	for (size_t i = 0; i < n; i++)
		write_node(&d, &all.nodes[i]);
	for (size_t i = 0; i < shown.n_edges; i++) {
		const struct profile_edge *e = &shown.edges[i];
		char text[24];

		if (!(fabs(e->weight) > edge_least * d.size))
			continue;
		fprintf(out, "N%u -> N%u [label=\" %s\" weight=%d penwidth=%.1f%s]\n", e->from,
			e->to, format_amount(d.type, e->weight, text, sizeof(text)),
			1 + (int)(share(&d, e->weight) * 100), 1 + 5 * share(&d, e->weight),
			e->residual ? " style=dashed" : "");
	}
	fputs("}\n", out);
	return 0;
}
