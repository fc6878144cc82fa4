// SPDX-License-Identifier: Apache-2.0
/*
 * Private to jemalloc/: jemalloc in an image that has no symbols for it. Every
 * address is found by one rule and confirmed by another one that does not
 * depend on it; where they disagree there is no answer.
 */
#ifndef JEMALLOC_SCAN_H
#define JEMALLOC_SCAN_H

#include "elf/image.h"
#include "elf/peek.h"
#include "jemalloc/arch/decode.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Private to jemalloc/: the tree in which jemalloc looks up the names of
 * mallctl. Its form has been the same from 3.6 on, and no strip(1) takes it
 * away: it tells which names this jemalloc has, and what handles each.
 *
 * Reads files and memory. Both may be anything: every pointer is checked to
 * lie in the image, and every walk is bounded.
 */

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

/* What the rules look at. Some 128 KiB; not to be copied. */
struct scan {
	struct image *image;
	struct peek memory;
	unsigned int n_trees;
	struct ctl_tree tree; /* if n_trees is 1 */
	struct decode code;
};

void scan_open(struct scan *s, struct image *img, pid_t pid);
/* The same without the tree of names: for who decodes code alone. */
void scan_open_code(struct scan *s, struct image *img, pid_t pid);

bool scan_in_image(const struct scan *s, uint64_t addr);
bool scan_in_code(const struct scan *s, uint64_t addr);

/*
 * Call `fn` for the image's code that is not far from `addr`, as all of a jemalloc's is: one object
 * file holds most of it, but a linker may put cold code elsewhere.
 */
typedef void scan_code_fn(void *ctx, const char *bytes, size_t len, uint64_t addr);
void scan_code_near(struct scan *s, uint64_t addr, scan_code_fn *fn, void *ctx);

/* The function that `insn` calls, through a stub or not; 0 if it calls none, or nobody knows. */
uint64_t scan_callee(struct scan *s, const struct insn *insn);

/*
 * Call `fn` for the instructions of `entry` and of the functions of the image
 * that it calls, up to `depth` calls away; stops early when fn returns
 * non-zero, and returns that.
 */
int scan_reach(struct scan *s, uint64_t entry, unsigned int depth, insn_fn *fn, void *ctx);

/*
 * mallctl in an image that exports no such name: what the places that name
 * "opt.abort" and its like call next, if it looks that name up in the tree and
 * calls a handler. `said` receives what was found where that fails, and 0 is
 * returned.
 */
uint64_t scan_mallctl(struct scan *s, char *said, size_t size);

/*
 * malloc_stats_print: what is called with two null pointers, as it is at exit,
 * and calls the function that names the report's first line. 0 if unknown.
 */
uint64_t scan_stats_print(struct scan *s, uint64_t mallctl);

/* Call `fn` for mallctl, for each function that handles one of its names, and for prof_dump. */
typedef void scan_control_fn(void *ctx, uint64_t addr);
void scan_control(struct scan *s, uint64_t mallctl, scan_control_fn *fn, void *ctx);

/*
 * prof_dump: the function within reach of prof.dump's handler that is called
 * to dump a profile and nothing else, if that makes a file by creat(2), or
 * what it calls does. *file_arg says which argument is the file's name, as in struct
 * jemalloc_dump. 0 if unknown.
 */
uint64_t scan_prof_dump(struct scan *s, unsigned int *file_arg);

/*
 * te_event_trigger: of the functions near mallctl that read the variable at `var`, which is that of
 * opt.tcache_gc_incr_bytes, the one that is called from most places, if it reads its second
 * argument as a te_ctx_t. 0 if unknown.
 */
uint64_t scan_event_trigger(struct scan *s, uint64_t mallctl, uint64_t var);

#endif
