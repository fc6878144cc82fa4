// SPDX-License-Identifier: Apache-2.0
/*
 * The call graph: what each function allocated itself and with its callees, and how much of that
 * came through each call. A stack that passes a function or call several times counts once there.
 */
#ifndef PROFILE_GRAPH_H
#define PROFILE_GRAPH_H

#include "base/err.h"
#include "profile/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile_node {
	uint32_t function;
	double flat, cum;
	double flat_variance, cum_variance;
};

struct profile_edge {
	uint32_t from, to; /* the caller's and the callee's function */
	bool residual;	   /* some of it went through functions that were left out */
	double weight, variance;
};

struct profile_graph {
	struct profile_node *nodes; /* one for each function; cum is 0 if it is in no path */
	size_t n_nodes;
	struct profile_edge *edges;
	size_t n_edges;
	double total;
	double size; /* of all stacks; in a difference, the sum of absolute changes */
};

/*
 * For one type. `keep` has a flag for each function; for one left out, its callers call its
 * callees. NULL: keep all. ERR_FAILED: no memory. The caller ends it with profile_graph_fini().
 */
int profile_graph_init(struct profile_graph *out, const struct profile_paths *paths,
		       size_t n_functions, enum profile_type type, const bool *keep,
		       struct err *err) __must_check;
void profile_graph_fini(struct profile_graph *graph);

#endif
