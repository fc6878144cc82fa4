/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* What the eBPF programs of `sample` report, and user space reads. */
#ifndef BPF_OBJECT_H
#define BPF_OBJECT_H

#include "bpf/stack.h"

#include <linux/types.h>

/* An allocation that was sampled: otel_memory:alloc. What it says is what the process says. */
struct heap_object {
	__u64 id; /* no other one has it, as good as surely */
	__u64 size;
	__u64 bytes;   /* that it stands for */
	__u64 time_ns; /* CLOCK_MONOTONIC */
	struct stack_copy stack;
};

/* Of all probes that were hit. */
struct heap_counts {
	__u64 objects;
	__u64 frees;
	__u64 ns;	 /* that the programs took, less what the probes take themselves */
	__u64 lost;	 /* objects for which the ring buffer had no room */
	__u64 untracked; /* of which it is not known whether they were freed: there were too many */
};

#define HEAP_LIVE_MAX 65536 /* sampled objects that live at a time */

#endif
