/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* Records of the eBPF programs of `sample`. */
#ifndef BPF_OBJECT_H
#define BPF_OBJECT_H

#include "bpf/stack.h"

#include <linux/types.h>

/* A sampled allocation: otel_memory:alloc. The values come from the process. */
struct heap_object {
	__u64 id; /* practically unique */
	__u64 size;
	__u64 bytes;   /* number that it represents */
	__u64 time_ns; /* CLOCK_MONOTONIC */
	struct stack_copy stack;
};

/* Totals of all probe hits. */
struct heap_counts {
	__u64 objects;
	__u64 frees;
	__u64 ns;	 /* run time of the programs, without the cost of the probes */
	__u64 lost;	 /* objects dropped because the ring buffer was full */
	__u64 untracked; /* too many to track whether they were freed */
};

/* Where a probe has its arguments. */
enum heap_arg_kind { HEAP_CONSTANT, HEAP_REGISTER, HEAP_MEMORY };

struct heap_arg {
	__u32 kind;	 /* enum heap_arg_kind */
	__u32 reg;	 /* its DWARF number */
	__s64 value;	 /* the constant, or what is added to the register to get the address */
	__u32 shift;	 /* 64 less the number of its bits */
	__u32 is_signed; /* 0 or 1 */
};

/* alloc: address, size, bytes; free: address. */
struct heap_args {
	struct heap_arg v[3];
};

#define HEAP_PROBES_MAX 64 /* of each of the two; a power of two */

#define HEAP_LIVE_MAX 65536 /* maximum number of live sampled objects */

#endif
