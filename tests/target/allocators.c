// SPDX-License-Identifier: Apache-2.0
/*
 * allocators BOARD [DEEPER]: three functions that allocate. A test writes a number of MB (2^20
 * bytes) to the board's `reserved`; the program allocates that much, in blocks that replace each
 * other, and then sets `reserved` to 0. `beats[2]` to `beats[4]` are the number of bytes that each
 * function has allocated so far. -1 makes it another program (execve(2)), -2 has a child do the
 * work for 64 MB, and from -3 on, two threads only allocate. The stack is DEEPER bytes deeper.
 */
#include "tests/target/block.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define POOL 512
#define MB (UINT64_C(1) << 20)
enum { SMALL, MIDDLE, LARGE };

/* No tail calls, and no identical code: each function has its own frame and name. */
#define ALLOCATOR(name)                                             \
	static __attribute__((noinline)) void *name(size_t size)    \
	{                                                           \
		void *p = malloc(size);                             \
                                                                    \
		__asm__ volatile("#" #name : "+r"(p) : : "memory"); \
		return p;                                           \
	}
ALLOCATOR(allocate_small)
ALLOCATOR(allocate_middle)
ALLOCATOR(allocate_large) /* larger than any threshold */

/* Random, so that nothing happens in step. */
static void *allocate(uint64_t *seed, uint64_t *bytes)
{
	uint64_t which = block_random(seed) % 100000, size = block_random(seed);
	void *p;

	if (which < 50) {
		p = allocate_large((128 << 10) + size % (256 << 10));
		bytes[LARGE] += malloc_usable_size(p);
	} else if (which < 1050) {
		p = allocate_middle((8 << 10) + size % (32 << 10));
		bytes[MIDDLE] += malloc_usable_size(p);
	} else {
		p = allocate_small(16 + size % 992);
		bytes[SMALL] += malloc_usable_size(p);
	}
	if (!p)
		FOUND(failed);
	return p;
}

static void work(uint64_t bytes)
{
	static void *pool[POOL];
	static uint64_t seed = 42;
	uint64_t *done = &board->beats[2], end = done[SMALL] + done[MIDDLE] + done[LARGE] + bytes;

	while (done[SMALL] + done[MIDDLE] + done[LARGE] < end) {
		void **p = &pool[block_random(&seed) % POOL];

		free(*p);
		*p = allocate(&seed, done);
	}
}

static void work_in_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		work(64 * MB);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		FOUND(failed);
}

static void *flood(void *arg)
{
	for (;;)
		free(allocate_large(100000));
	return arg;
}

static void start_flood(void)
{
	pthread_t thread;

	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread, NULL, flood, NULL))
			FOUND(failed);
}

int main(int argc, char **argv)
{
	char deeper[argc > 2 ? strtoul(argv[2], NULL, 10) : 1];

	if (argc < 2) {
		fprintf(stderr, "usage: allocators BOARD [DEEPER]\n");
		return 2;
	}
	__asm__ volatile("" : : "r"(deeper) : "memory");
	victim_open(argv[1]);
	work(MB);
	victim_ready(2);
	for (;;) {
		uint64_t order = __atomic_load_n(&board->reserved, __ATOMIC_SEQ_CST);

		if (order == UINT64_MAX)
			execl("/bin/sleep", "sleep", "300", NULL);
		if (order == UINT64_MAX - 1)
			work_in_child();
		else if (order == UINT64_MAX - 2)
			start_flood();
		else if (order)
			work(order * MB);
		if (order)
			__atomic_store_n(&board->reserved, 0, __ATOMIC_SEQ_CST);
		victim_nap(5);
		victim_beat(0);
		victim_beat(1);
	}
}
