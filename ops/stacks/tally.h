// SPDX-License-Identifier: Apache-2.0
/* Private to ops/: what was allocated through each stack, added up from samples. */
#ifndef OPS_STACKS_TALLY_H
#define OPS_STACKS_TALLY_H

#include "ops/stacks/table.h"

#include <stdint.h>
#include <stdio.h>

/* The number of kinds of samples, each with a known total of its own. */
#define STACK_KINDS 2

struct stack_sum {
	uint64_t samples, bytes[STACK_KINDS];
};

/* { 0 } is an empty one. */
struct stack_tally {
	struct stack_table stacks;
	struct stack_sum *v; /* of each stack, by its number */
	size_t room;
	uint64_t samples, bytes[STACK_KINDS]; /* of all */
};

/* Add bytes that were allocated through a stack, as in stack_table_find(). */
int stack_tally_add(struct stack_tally *t, const uint64_t *addrs, size_t depth, unsigned int kind,
		    uint64_t bytes, struct err *err) __must_check;

/*
 * Write a heap profile without its mappings, whose only counts are bytes allocated
 * (doc/heap-format.md). Samples are scaled to the total of their kind; the total of a kind without
 * samples is distributed among the others in proportion, as it was allocated, too.
 */
void stack_tally_write(const struct stack_tally *t, const uint64_t totals[STACK_KINDS], FILE *out);

void stack_tally_fini(struct stack_tally *t);

#endif
