// SPDX-License-Identifier: Apache-2.0
/* A thread that was looked at: written by bench/looked.c, read by bench/frames.c. */
#ifndef BENCH_LOOKED_H
#define BENCH_LOOKED_H

#include <stdint.h>

#define LOOKED_MAGIC 0x64656b6f6f6cull
#define LOOKED_REGS 17 /* in the order of their DWARF numbers */
#define LOOKED_STACK_MAX (128u << 10)

struct looked {
	uint64_t magic;
	int64_t tid, nr; /* the system call, -1: none */
	uint64_t regs[LOOKED_REGS];
	uint64_t stack, stack_len; /* the part that follows */
	char reason[200];	   /* why it was refused; empty if it was not */
};

#endif
