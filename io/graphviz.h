// SPDX-License-Identifier: Apache-2.0
/* Graphs of calls, drawn by dot(1) of Graphviz where that is installed. */
#ifndef IO_GRAPHVIZ_H
#define IO_GRAPHVIZ_H

#include "io/memory_file.h"

#include <stdio.h>

/* The picture that a file of this name is to hold: "svg", "png" or "pdf"; else NULL. */
const char *graphviz_type(const char *path);

/*
 * Have `write` make a graph in dot's language, and write its picture to `out`. The
 * names in it are another user's: see io/graphviz_child.h for what dot(1) may do. ERR_FAILED, with
 * its fix where there is no dot(1), when it takes too long, or what `write` says.
 */
int graphviz_draw(const char *type, memory_file_fn *write, const void *ctx, FILE *out,
		  struct err *err) __must_check;

#endif
