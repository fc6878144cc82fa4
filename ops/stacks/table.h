// SPDX-License-Identifier: Apache-2.0
/* Private to ops/: call stacks, each with a number. */
#ifndef OPS_STACKS_TABLE_H
#define OPS_STACKS_TABLE_H

#include "base/err.h"
#include "base/hashmap.h"

#include <stdint.h>
#include <stdio.h>

/* { 0 } is an empty one. */
struct stack_table {
	struct stack {
		size_t first; /* of `addrs` */
		size_t depth;
	} * v;
	size_t n, room;
	uint64_t *addrs;
	size_t n_addrs, room_addrs;
	struct hashmap by_stack;
	uint64_t shortened; /* how often only the innermost call of a stack was kept */
};

/*
 * The number of the stack of `depth` calls, at least one, innermost first. Beyond STACKS_MAX
 * stacks, or STACK_ADDRS_MAX addresses, only the innermost call of a stack is kept. ERR_FAILED when
 * out of memory.
 */
#define STACKS_MAX (UINT64_C(1) << 20)
#define STACK_ADDRS_MAX (UINT64_C(1) << 24)
int stack_table_find(struct stack_table *t, const uint64_t *addrs, size_t depth, uint32_t *number,
		     struct err *err) __must_check;

/* "@ 0x1000 0x2000", the beginning of its record in a heap profile. */
void stack_table_print(const struct stack_table *t, uint32_t number, FILE *out);

void stack_table_fini(struct stack_table *t);

#endif
