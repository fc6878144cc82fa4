// SPDX-License-Identifier: Apache-2.0
/* Private to ops/: which of a process's jemallocs is meant. */
#ifndef OPS_PICK_H
#define OPS_PICK_H

#include "jemalloc/jemalloc.h"

/*
 * The one of `n` whose image is called `name` (a path as maps names it, or its
 * file name) or whose prefix is `name`; the first when `name` is NULL.
 * ERR_NOJEMALLOC when there is none, ERR_USAGE when there are several; both
 * name what there is.
 */
int pick_jemalloc(struct jemalloc *v, size_t n, const char *name, struct jemalloc **picked,
		  struct err *err) __must_check;

#endif
