// SPDX-License-Identifier: Apache-2.0
/*
 * mallocs MILLIONS [again]: that many million times malloc(3) and free(3) of 16 to 512 bytes in
 * each of two threads, below 24 calls, with 1,000 blocks in use at a time, and nothing else. Prints
 * the nanoseconds of one malloc and one free. `again`: for each line that it reads.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEPTH 24
#define BLOCKS 1000
#define THREADS 2

static uint64_t rounds;

static void work(void)
{
	static _Thread_local void *blocks[BLOCKS];
	uint64_t random = 88172645463325252;

	for (uint64_t i = 0; i < rounds; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		free(blocks[i % BLOCKS]);
		blocks[i % BLOCKS] = malloc(16 + random % 497);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

__attribute__((noinline)) static void descend(int depth)
{
	if (depth)
		descend(depth - 1);
	else
		work();
	__asm__ volatile("" ::: "memory"); /* no tail call: each level is a frame */
}

static void *run(void *arg)
{
	descend(DEPTH);
	return arg;
}

static int measure(void)
{
	pthread_t threads[THREADS];
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%.2f\n",
	       ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
		       (double)rounds);
	return fflush(stdout) ? 1 : 0;
}

int main(int argc, char **argv)
{
	int c, failed = 0;

	if (argc < 2 || argc > 3 || !(rounds = strtoull(argv[1], NULL, 10) * 1000000))
		return 2;
	if (argc == 2)
		return measure();
	while (!failed && (c = getchar()) != EOF)
		failed = c == '\n' && measure();
	return failed;
}
