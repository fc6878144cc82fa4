// SPDX-License-Identifier: Apache-2.0
/*
 * busy BOARD [THREADS]: threads that allocate, move and free blocks as fast as they can, and can
 * predict their contents; the main thread naps.
 */
#include "tests/target/block.h"

#include <stdio.h>
#include <stdlib.h>

#define SLOTS 512

/* Mostly small sizes, some pages, a few large ones. */
static size_t words_of(uint64_t random)
{
	if (random % 256 == 0)
		return 2 + random / 256 % 16384;
	return 2 + random / 256 % (random % 16 == 0 ? 1024 : 64);
}

static void replace(struct block *b, uint64_t random)
{
	if (b->data)
		block_verify(b);
	free(b->data);
	*b = (struct block){ .seed = random, .words = words_of(random) };
	b->data = malloc(b->words * sizeof(uint64_t));
	if (b->data)
		block_fill(b);
	else
		FOUND(failed);
}

static void resize(struct block *b, uint64_t random)
{
	if (b->data && !block_resize(b, words_of(random)))
		FOUND(failed);
}

static void *storm(void *arg)
{
	unsigned int id = (unsigned int)(uintptr_t)arg;
	uint64_t seed = 0x9e3779b97f4a7c15ull * (id + 1);
	struct block *blocks = calloc(SLOTS, sizeof(*blocks));

	if (!blocks)
		exit(2);
	victim_altstack_set();
	for (;;) {
		uint64_t random = block_random(&seed);
		struct block *b = &blocks[random % SLOTS];

		if (random >> 60 == 0)
			resize(b, block_random(&seed));
		else
			replace(b, block_random(&seed));
		victim_beat(id);
		if (random >> 50 == 0)
			victim_altstack_check();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int threads = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 2;

	if (argc < 2 || threads < 1 || threads >= VICTIM_BEATS) {
		fprintf(stderr, "usage: busy BOARD [THREADS]\n");
		return 2;
	}
	victim_open(argv[1]);
	victim_threads(threads, storm);
	victim_altstack_set();
	victim_ready(threads + 1);
	for (;;) {
		victim_nap(20);
		victim_altstack_check();
		victim_beat(0);
	}
}
