// SPDX-License-Identifier: Apache-2.0
/*
 * grower BOARD [RATE [rest]]: holds as many MiB, all written to, as a test requests in the board's
 * `reserved`, and gets there at RATE MiB per second (0: as fast as it can); beat 2 is how many it
 * has. hoard() holds them; churn() allocates as much, and frees it at once. With "rest", another
 * thread does nothing.
 */
#include "tests/target/victim.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK ((size_t)256 << 10)
#define PER_MIB ((1 << 20) / BLOCK)
#define BLOCKS_MAX (4096 * PER_MIB)

static void *held[BLOCKS_MAX];
static size_t n_held;

static __attribute__((noinline)) void hoard(void)
{
	void *block = malloc(BLOCK);

	held[n_held++] = block;
	if (block)
		memset(block, 1, BLOCK);
	else
		FOUND(failed);
}

static __attribute__((noinline)) void churn(void)
{
	void *block = malloc(BLOCK / 4);

	if (!block)
		FOUND(failed);
	else
		memset(block, 1, BLOCK / 4);
	free(block);
}

/* Grow by a whole MiB. */
static void grow(void)
{
	for (size_t i = 0; i < PER_MIB && n_held < BLOCKS_MAX; i++) {
		hoard();
		churn();
	}
}

static void shrink(size_t blocks)
{
	while (n_held > blocks)
		free(held[--n_held]);
}

int main(int argc, char **argv)
{
	unsigned long rate = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	const struct timespec pace = { .tv_nsec =
					       rate > 1 ? (long)(1000000000 / rate) : 999999999 };

	if (argc < 2) {
		fprintf(stderr, "usage: grower BOARD [RATE [rest]]\n");
		return 2;
	}
	victim_open(argv[1]);
	if (argc > 3)
		victim_threads(1, victim_rest);
	victim_ready(argc > 3 ? 2 : 1);
	for (;;) {
		uint64_t wanted = __atomic_load_n(&board->reserved, __ATOMIC_RELAXED);

		shrink(wanted * PER_MIB);
		if (n_held / PER_MIB < wanted) {
			grow();
			if (rate)
				nanosleep(&pace, NULL);
		} else {
			victim_nap(5);
		}
		__atomic_store_n(&board->beats[2], n_held / PER_MIB, __ATOMIC_RELAXED);
		victim_beat(0);
	}
}
