// SPDX-License-Identifier: Apache-2.0
/*
 * leaky BOARD [BLOCKS]: works in rounds, counted by beat 0. Each round replaces a tenth of a pool
 * of blocks of many sizes, and then forgets BLOCKS blocks (0) of LEAK_SIZE bytes, a size that
 * jemalloc does not round. If a test writes a number to the board's `reserved`, it forgets as many,
 * once and at once; -1 makes it another program (execve(2)).
 */
#include "tests/target/block.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define POOL 1000
#define LEAK_SIZE 1024

void *volatile forgotten;

static __attribute__((noinline)) void replace_in_pool(char **pool, size_t first, uint64_t *seed)
{
	for (size_t i = first; i < POOL; i += 10) {
		uint64_t random = block_random(seed);

		free(pool[i]);
		pool[i] = malloc(16 + random % 2000);
		if (!pool[i])
			FOUND(failed);
	}
}

static __attribute__((noinline)) void forget_blocks(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		forgotten = malloc(LEAK_SIZE);
		if (!forgotten)
			FOUND(failed);
	}
}

int main(int argc, char **argv)
{
	unsigned long blocks = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	static char *pool[POOL];
	uint64_t seed = 42;

	if (argc < 2) {
		fprintf(stderr, "usage: leaky BOARD [BLOCKS]\n");
		return 2;
	}
	victim_open(argv[1]);
	for (size_t i = 0; i < 10; i++)
		replace_in_pool(pool, i, &seed);
	victim_ready(1);
	for (size_t round = 0;; round++) {
		replace_in_pool(pool, round % 10, &seed);
		forget_blocks(blocks);
		if (board->reserved == UINT64_MAX)
			execl("/bin/sleep", "sleep", "300", NULL);
		if (board->reserved) {
			forget_blocks(board->reserved);
			__atomic_store_n(&board->reserved, 0, __ATOMIC_SEQ_CST);
		}
		victim_nap(5);
		victim_beat(0);
	}
}
