// SPDX-License-Identifier: Apache-2.0
/*
 * Private to ops/, in confined children: walking the frames of a thread by its unwind tables, on a
 * copy of its stack that a probe made (bpf/stack.h).
 */
#ifndef OPS_STACKS_WALK_H
#define OPS_STACKS_WALK_H

#include "bpf/stack.h"
#include "elf/image.h"
#include "elf/peek.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct stack_walker {
	const struct images *images; /* of its process; the caller's */
	/*
	 * The thread has gone on since, so of memory its images are read alone, and what is not in
	 * the copy ends the walk. No other process is walked by this one of ours.
	 */
	bool gone_on;
	struct peek memory; /* 128 KiB */
};

/* `w` reads the memory of `pid` from then on. */
void stack_walker_init(struct stack_walker *w, const struct images *images, pid_t pid,
		       bool gone_on);

/*
 * The addresses of its frames, innermost first, `max` at most; how many. All of them but the first
 * are return addresses. What was found before a walk ended early is true; *whole: it did not.
 */
size_t stack_walk(struct stack_walker *w, const struct stack_copy *stack, uint64_t *addrs,
		  size_t max, bool *whole);

#endif
