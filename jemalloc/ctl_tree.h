// SPDX-License-Identifier: Apache-2.0
/*
 * Private to jemalloc/: the tree in which jemalloc looks up the names of
 * mallctl. Its form has been the same from 3.6 on, and no strip(1) takes it
 * away: it tells which names this jemalloc has, and what handles each.
 *
 * Reads files and memory. Both may be anything: every pointer is checked to
 * lie in the image, and every walk is bounded.
 */
#ifndef JEMALLOC_CTL_TREE_H
#define JEMALLOC_CTL_TREE_H

#include "elf/image.h"
#include "elf/peek.h"

#include <stdbool.h>
#include <sys/types.h>

struct ctl_tree {
	const struct image *image;
	struct peek *memory; /* of the process */
	uint64_t root;	     /* the node above all others, "super_root_node" */
	uint64_t children;   /* its children: "version", "epoch", ... */
	uint32_t n_children;
};

/*
 * The tree in the image of the process whose memory that is; the number of
 * trees found, 2 for more than one. `t` is set when it is 1, and uses both.
 * 64-bit only.
 */
unsigned int ctl_tree_find(struct ctl_tree *t, struct image *img, struct peek *memory);

/* The handler of `name` ("opt.prof"), 0 if there is none. No names with a number in them. */
uint64_t ctl_tree_handler(const struct ctl_tree *t, const char *name);

/*
 * Call `fn` for each name that has a handler; stops early when fn returns
 * non-zero, and returns that. What lies behind a number ("arena.0.purge") is
 * left out.
 */
#define CTL_NAME_SIZE 128
typedef int ctl_tree_fn(void *ctx, const char *name, uint64_t handler);
int ctl_tree_each(const struct ctl_tree *t, ctl_tree_fn *fn, void *ctx);

#endif
