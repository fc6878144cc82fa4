// SPDX-License-Identifier: Apache-2.0
/*
 * Private to ops/, in confined children: walking the frames of a thread by its unwind tables, in a
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
	const struct images *images; /* of its process; owned by the caller */
	/*
	 * The thread has continued since, so only its images are read from memory, and the walk
	 * ends at anything that is not in the copy. This process of ours walks no other process.
	 */
	bool gone_on;
	struct peek memory; /* 128 KiB */
};

/* `w` reads the memory of `pid` from then on. */
void stack_walker_init(struct stack_walker *w, const struct images *images, pid_t pid,
		       bool gone_on);

/*
 * The addresses of its frames, innermost first, at most `max`; returns how many. All but the first
 * are return addresses. If a walk ends early, what was found is still correct; *whole is false
 * then.
 */
size_t stack_walk(struct stack_walker *w, const struct stack_copy *stack, uint64_t *addrs,
		  size_t max, bool *whole);

#endif
