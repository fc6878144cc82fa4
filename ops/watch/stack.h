// SPDX-License-Identifier: Apache-2.0
/*
 * Private to the watch: who asked for a dump, by the copy of its stack that the
 * kernel made when it began, and unwind tables.
 */
#ifndef OPS_WATCH_STACK_H
#define OPS_WATCH_STACK_H

#include "bpf/event.h"
#include "ops/watch/images.h"
#include "ops/watch/watch.h"

#include <stddef.h>
#include <stdint.h>

#define STACKS_MAX 512 /* dumps that have begun, and have not been told of */

struct watch_stack {
	pid_t pid, tid;
	uint64_t dump_began_ns;
	uint64_t addrs[OPS_WATCH_FRAMES];
	size_t n;
};

struct watch_stacks {
	struct watch_stack v[STACKS_MAX]; /* the oldest is replaced */
	size_t next;
};

/* A dump has begun. Its process becomes known to `whos`. */
void watch_stack_begin(struct watch_stacks *s, struct watch_processes *whos,
		       const struct watch_begin *begin);

/*
 * The frames of a dump that has ended, with their names if `who` is known: by
 * unwind tables, else by frame pointers, as far as they lead into code. How many.
 */
size_t watch_stack_end(const struct watch_stacks *s, const struct watch_dump *dump,
		       struct watch_images *who, struct watch_frame frames[OPS_WATCH_FRAMES]);

#endif
