// SPDX-License-Identifier: Apache-2.0
/* Blocks of memory whose contents the victims can predict. */
#ifndef TESTS_TARGET_BLOCK_H
#define TESTS_TARGET_BLOCK_H

#include "tests/target/victim.h"

#include <stdbool.h>
#include <stdlib.h>

#define BLOCK_STEP 61 /* touching each word of a large block would be the whole load */

struct block {
	uint64_t seed;
	size_t words; /* at least 2 */
	uint64_t *data;
};

static inline uint64_t block_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static inline void block_fill(const struct block *b)
{
	for (size_t i = 0; i < b->words - 1; i += BLOCK_STEP)
		b->data[i] = b->seed + i;
	b->data[b->words - 1] = ~b->seed;
}

static inline void block_verify(const struct block *b)
{
	for (size_t i = 0; i < b->words - 1; i += BLOCK_STEP)
		if (b->data[i] != b->seed + i)
			FOUND(corrupt);
	if (b->data[b->words - 1] != ~b->seed)
		FOUND(corrupt);
}

/* realloc(3); what it keeps must be unchanged. On failure, return false and change nothing. */
static inline bool block_resize(struct block *b, size_t words)
{
	size_t kept = words < b->words ? words : b->words;
	uint64_t *data;

	block_verify(b);
	data = realloc(b->data, words * sizeof(uint64_t));
	if (!data)
		return false;
	for (size_t i = 0; i < kept - 1; i += BLOCK_STEP)
		if (data[i] != b->seed + i)
			FOUND(corrupt);
	b->data = data;
	b->words = words;
	block_fill(b);
	return true;
}

#endif
