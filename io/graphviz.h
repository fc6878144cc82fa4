// SPDX-License-Identifier: Apache-2.0
/* Call graphs, drawn by dot(1) of Graphviz if that is installed. */
#ifndef IO_GRAPHVIZ_H
#define IO_GRAPHVIZ_H

#include "io/memory_file.h"

#include <stdio.h>

/* The image type for a file name: "svg", "png" or "pdf"; else NULL. */
const char *graphviz_type(const char *path);

/*
 * Have `write` produce a graph in the DOT language, and write its picture to `out`. The names in it
 * are untrusted: see io/graphviz_child.h for the confinement of dot(1). ERR_FAILED, with a fix,
 * without dot(1) or on timeout; or the error of `write`.
 */
int graphviz_draw(const char *type, memory_file_fn *write, const void *ctx, FILE *out,
		  struct err *err) __must_check;

#endif
