// SPDX-License-Identifier: Apache-2.0
/*
 * Private to jemalloc/: finds jemalloc in an image without symbols for it. Every address is found
 * by one rule and confirmed by an independent one; if they disagree there is no result.
 */
#ifndef JEMALLOC_SCAN_H
#define JEMALLOC_SCAN_H

#include "elf/image.h"
#include "elf/peek.h"
#include "jemalloc/arch/decode.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Private to jemalloc/: the tree in which jemalloc looks up mallctl names. Its format has been the
 * same from 3.6 on, and strip(1) does not remove it: it shows which names this jemalloc has, and
 * the handler of each.
 *
 * Reads files and memory, both untrusted: every pointer is checked to be within the image, and
 * every walk is bounded.
 */

struct ctl_tree {
	const struct image *image;
	struct peek *memory; /* of the process */
	uint64_t root;	     /* the root node, "super_root_node" */
	uint64_t children;   /* its children: "version", "epoch", ... */
	uint32_t n_children;
};

/*
 * Find the tree in an image; `memory` is that of its process. Returns the number of trees found, 2
 * for more than one. `t` is set when it is 1, and refers to both arguments. 64-bit only.
 */
unsigned int ctl_tree_find(struct ctl_tree *t, struct image *img, struct peek *memory);

/* The handler of `name` ("opt.prof"), or 0. Names with a number are not supported. */
uint64_t ctl_tree_handler(const struct ctl_tree *t, const char *name);

/*
 * Call `fn` for each name that has a handler; stops early when fn returns non-zero, and returns
 * that. Names with a number ("arena.0.purge") are omitted.
 */
#define CTL_NAME_SIZE 128
typedef int ctl_tree_fn(void *ctx, const char *name, uint64_t handler);
int ctl_tree_each(const struct ctl_tree *t, ctl_tree_fn *fn, void *ctx);

/* The input of the rules. About 128 KiB; not to be copied. */
struct scan {
	struct image *image;
	struct peek memory;
	unsigned int n_trees;
	struct ctl_tree tree; /* if n_trees is 1 */
	struct decode code;
};

void scan_open(struct scan *s, struct image *img, pid_t pid);
/* The same without the tree of names, if only code is decoded. */
void scan_open_code(struct scan *s, struct image *img, pid_t pid);

/*
 * Call `fn` for the image's code not far from `addr`, where all of a jemalloc's code should be: one
 * object file has most of it, but a linker may put cold code elsewhere.
 */
typedef void scan_code_fn(void *ctx, const char *bytes, size_t len, uint64_t addr);
void scan_code_near(struct scan *s, uint64_t addr, scan_code_fn *fn, void *ctx);

/* The function that `insn` calls, directly or through a stub; 0 if none or unknown. */
uint64_t scan_callee(struct scan *s, const struct insn *insn);

/*
 * Call `fn` for the instructions of `entry` and of the functions in the image that it calls, up to
 * `depth` calls deep; stops early when fn returns non-zero, and returns that.
 */
int scan_reach(struct scan *s, uint64_t entry, unsigned int depth, insn_fn *fn, void *ctx);

/*
 * mallctl in an image without that symbol: the function called after references to "opt.abort" and
 * similar strings, if it looks a name up in the tree and calls a handler. On failure returns 0,
 * with an explanation in `said`.
 */
uint64_t scan_mallctl(struct scan *s, char *said, size_t size);

/*
 * malloc_stats_print: a function that is called with two null pointers, as at exit, and calls the
 * function that refers to the report's first line. 0 if unknown.
 */
uint64_t scan_stats_print(struct scan *s, uint64_t mallctl);

/* Call `fn` for mallctl, for each handler of its names, and for prof_dump. */
typedef void scan_control_fn(void *ctx, uint64_t addr);
void scan_control(struct scan *s, uint64_t mallctl, scan_control_fn *fn, void *ctx);

/*
 * prof_dump: the only function reached from prof.dump's handler that is called with the arguments
 * for dumping a profile, if it, or a function that it calls, creates a file by creat(2). *file_arg
 * is the number of the argument with the file name, as in struct jemalloc_dump. 0 if unknown.
 */
uint64_t scan_prof_dump(struct scan *s, unsigned int *file_arg);

/*
 * te_event_trigger: of the functions near mallctl that read `var`, the address of the variable of
 * opt.tcache_gc_incr_bytes, the one called from the most places, if it reads its second argument as
 * a te_ctx_t. 0 if unknown.
 */
uint64_t scan_event_trigger(struct scan *s, uint64_t mallctl, uint64_t var);

#endif
