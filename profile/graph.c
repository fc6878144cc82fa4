// SPDX-License-Identifier: Apache-2.0
#include "profile/graph.h"

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>

/* While building: the last path that each node and edge was counted for. */
struct builder {
	struct profile_graph graph;
	struct hashmap by_ends; /* of edges */
	uint32_t *node_seen, *edge_seen;
	size_t n_edge_room, n_seen_room;
	enum profile_type type;
	const bool *keep;
};

static void builder_fini(struct builder *b)
{
	profile_graph_fini(&b->graph);
	hashmap_fini(&b->by_ends);
	free(b->node_seen);
	free(b->edge_seen);
}

/* The edge between two functions, added if there is none; HASHMAP_NONE without memory. */
static uint32_t edge_between(struct builder *b, uint32_t from, uint32_t to)
{
	struct profile_graph *g = &b->graph;
	uint64_t key = (uint64_t)from << 32 | to;
	uint32_t at = hashmap_get(&b->by_ends, key);

	if (at != HASHMAP_NONE)
		return at;
	if (g->n_edges >= HASHMAP_NONE || !vec_grow(g->edges, b->n_edge_room, g->n_edges) ||
	    !vec_grow(b->edge_seen, b->n_seen_room, g->n_edges) ||
	    !hashmap_put(&b->by_ends, key, (uint32_t)g->n_edges))
		return HASHMAP_NONE;
	g->edges[g->n_edges] = (struct profile_edge){ .from = from, .to = to };
	b->edge_seen[g->n_edges] = HASHMAP_NONE;
	return (uint32_t)g->n_edges++;
}

/* Count path number `n`: each function and each edge once. */
static bool add_path(struct builder *b, const struct profile_path *path, uint32_t n)
{
	double value = path->value[b->type], variance = path->variance[b->type];
	uint32_t outer = HASHMAP_NONE, at;

	b->graph.total += value;
	b->graph.size += fabs(value);
	for (uint32_t i = 0; i < path->depth; i++) {
		struct profile_node *node = &b->graph.nodes[path->function[i]];

		if (b->keep && !b->keep[path->function[i]])
			continue;
		if (b->node_seen[path->function[i]] != n) {
			b->node_seen[path->function[i]] = n;
			node->cum += value;
			node->cum_variance += variance;
		}
		if (i + 1 == path->depth) {
			node->flat += value;
			node->flat_variance += variance;
		}
		if (outer != HASHMAP_NONE) {
			at = edge_between(b, path->function[outer], path->function[i]);
			if (at == HASHMAP_NONE)
				return false;
			b->graph.edges[at].residual |= outer + 1 < i;
			if (b->edge_seen[at] != n) {
				b->edge_seen[at] = n;
				b->graph.edges[at].weight += value;
				b->graph.edges[at].variance += variance;
			}
		}
		outer = i;
	}
	return true;
}

int profile_graph_init(struct profile_graph *out, const struct profile_paths *paths,
		       size_t n_functions, enum profile_type type, const bool *keep,
		       struct err *err)
{
	_cleanup_(builder_fini) struct builder b = { .type = type, .keep = keep };

	b.graph.nodes = calloc(n_functions + 1, sizeof(*b.graph.nodes));
	b.node_seen = calloc(n_functions + 1, sizeof(*b.node_seen));
	if (!b.graph.nodes || !b.node_seen)
		return err_no_memory(err);
	b.graph.n_nodes = n_functions;
	for (size_t i = 0; i < n_functions; i++) {
		b.graph.nodes[i].function = (uint32_t)i;
		b.node_seen[i] = HASHMAP_NONE;
	}
	for (size_t i = 0; i < paths->n; i++)
		if (!add_path(&b, &paths->v[i], (uint32_t)i))
			return err_no_memory(err);
	*out = b.graph;
	b.graph = (struct profile_graph){ 0 };
	return 0;
}

void profile_graph_fini(struct profile_graph *graph)
{
	free(graph->nodes);
	free(graph->edges);
	*graph = (struct profile_graph){ 0 };
}
