// SPDX-License-Identifier: Apache-2.0
/*
 * busy BOARD [THREADS]: threads that allocate, move and free blocks as fast
 * as they can, whose contents they know by heart; the main thread naps.
 */
#include "tests/target/victim.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS 512
#define STEP 61

struct block {
	uint64_t seed;
	size_t words;
	uint64_t *data;
};

static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Small sizes mostly, some of them pages, a few of them large. */
static size_t words_of(uint64_t random)
{
	if (random % 256 == 0)
		return 2 + random / 256 % 16384;
	return 2 + random / 256 % (random % 16 == 0 ? 1024 : 64);
}

/* Every 61st word and the last one: touching all of a large block would be the whole load. */
static void fill(const struct block *b)
{
	for (size_t i = 0; i < b->words - 1; i += STEP)
		b->data[i] = b->seed + i;
	b->data[b->words - 1] = ~b->seed;
}

static void verify(const struct block *b)
{
	for (size_t i = 0; i < b->words - 1; i += STEP)
		if (b->data[i] != b->seed + i)
			FOUND(corrupt);
	if (b->data[b->words - 1] != ~b->seed)
		FOUND(corrupt);
}

static void replace(struct block *b, uint64_t random)
{
	if (b->data)
		verify(b);
	free(b->data);
	*b = (struct block){ .seed = random, .words = words_of(random) };
	b->data = malloc(b->words * sizeof(uint64_t));
	if (b->data)
		fill(b);
	else
		FOUND(failed);
}

/* What moves along must be what was there. */
static void resize(struct block *b, uint64_t random)
{
	size_t words = words_of(random), kept = words < b->words ? words : b->words;
	uint64_t *data;

	if (!b->data)
		return;
	verify(b);
	data = realloc(b->data, words * sizeof(uint64_t));
	if (!data) {
		FOUND(failed);
		return;
	}
	for (size_t i = 0; i < kept - 1; i += STEP)
		if (data[i] != b->seed + i)
			FOUND(corrupt);
	b->data = data;
	b->words = words;
	fill(b);
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
		uint64_t random = next(&seed);
		struct block *b = &blocks[random % SLOTS];

		if (random >> 60 == 0)
			resize(b, next(&seed));
		else
			replace(b, next(&seed));
		victim_beat(id);
		if (random >> 50 == 0)
			victim_altstack_check();
	}
	return NULL;
}

static void nap(void)
{
	const struct timespec ts = { .tv_nsec = 20 * 1000000L };

	if (nanosleep(&ts, NULL) == 0)
		return;
	if (errno == EINTR)
		FOUND(eintr);
	else
		FOUND(failed);
}

int main(int argc, char **argv)
{
	unsigned int threads = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 2;
	pthread_t thread;

	if (argc < 2 || threads < 1 || threads >= VICTIM_BEATS) {
		fprintf(stderr, "usage: busy BOARD [THREADS]\n");
		return 2;
	}
	victim_open(argv[1]);
	for (uintptr_t i = 1; i <= threads; i++)
		if (pthread_create(&thread, NULL, storm, (void *)i) != 0)
			return 2;
	victim_altstack_set();
	victim_ready(threads + 1);
	for (;;) {
		nap();
		victim_altstack_check();
		victim_beat(0);
	}
}
