// SPDX-License-Identifier: Apache-2.0
/*
 * Private to the watch: the stack of a dump. Stacks are walked and functions are named in a
 * confined child (sandbox/confined.h), which reads files and memory of the processes that dumped.
 */
#ifndef OPS_WATCH_FRAMES_H
#define OPS_WATCH_FRAMES_H

#include "bpf/event.h"
#include "ops/watch/images.h"
#include "ops/watch/watch.h"
#include "sandbox/confined.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stack, walked by unwind tables in the copy that the kernel made when the dump began. */

#define STACKS_MAX 512 /* dumps that have begun and were not reported yet */

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

struct watch_frames {
	struct confined child;
	bool debuginfod;
	char *texts[2 * OPS_WATCH_FRAMES]; /* of the last dump */
	size_t n_texts;
	size_t unanswered; /* dumps whose frames came too late: the child was replaced */
};
#define WATCH_FRAMES_INIT              \
	{                              \
		.child = CONFINED_INIT \
	}

/* Without it dumps have no frames. */
int watch_frames_start(struct watch_frames *f, struct err *err) __must_check;
void watch_frames_fini(struct watch_frames *f);

/* A dump has begun: its process can be inspected now, and may end with it. */
void watch_frames_begin(struct watch_frames *f, const struct watch_begin *begin);

/*
 * The frames of a dump that has ended, innermost first, with their names; returns how many. Their
 * texts live until the next call. 0 if the child was not started, or did not answer.
 */
size_t watch_frames_end(struct watch_frames *f, const struct watch_dump *dump,
			struct watch_frame frames[OPS_WATCH_FRAMES]);

/* For its fuzz target: an answer of the child. 0 for an invalid one. */
size_t watch_frames_unpack(struct watch_frames *f, struct unpack *u,
			   struct watch_frame frames[OPS_WATCH_FRAMES]);

#endif
