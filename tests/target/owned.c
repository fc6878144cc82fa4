// SPDX-License-Identifier: Apache-2.0
/*
 * owned BOARD MIB: memory of many owners, all of it resident: 40 MiB that malloc returned and 24
 * MiB that were freed, MIB that the program mapped itself, 20 MiB of shared memory, 6 MiB of
 * brk(2), 12 MiB of a thread's stack, 5 MiB of variables.
 */
#include "tests/target/victim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define BLOCK ((size_t)64 << 10)
#define KEPT (40 * MIB / BLOCK)
#define FREED (24 * MIB / BLOCK)
#define STACK (16 * MIB)
#define STACK_USED (12 * MIB)

static char variables[5 * MIB];
static char *blocks[KEPT + FREED];
static pthread_barrier_t used;

static void *deep(void *arg)
{
	char on_stack[STACK_USED];

	(void)arg;
	memset(on_stack, 1, sizeof(on_stack));
	__asm__ volatile("" ::"r"(on_stack) : "memory");
	pthread_barrier_wait(&used);
	for (;;)
		pause();
	return NULL;
}

static void start_deep(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_barrier_init(&used, NULL, 2);
	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, STACK) ||
	    pthread_create(&thread, &attr, deep, NULL))
		exit(1);
	pthread_barrier_wait(&used);
}

static void use(void *memory, size_t size)
{
	if (memory == MAP_FAILED)
		exit(1);
	madvise(memory, size, MADV_NOHUGEPAGE);
	memset(memory, 1, size);
}

static void use_malloc(void)
{
	for (size_t i = 0; i < KEPT + FREED; i++) {
		blocks[i] = malloc(BLOCK);
		if (!blocks[i])
			exit(1);
		memset(blocks[i], 1, BLOCK);
	}
	for (size_t i = KEPT; i < KEPT + FREED; i++)
		free(blocks[i]);
}

int main(int argc, char **argv)
{
	size_t mapped = argc == 3 ? strtoul(argv[2], NULL, 10) * MIB : 0;

	if (argc != 3) {
		fprintf(stderr, "usage: owned BOARD MIB\n");
		return 2;
	}
	victim_open(argv[1]);
	start_deep();
	use_malloc();
	memset(variables, 1, sizeof(variables));
	use(sbrk(6 * MIB), 6 * MIB);
	use(mmap(NULL, 20 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
	    20 * MIB);
	if (mapped)
		use(mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		    mapped);
	/* Only address space, as some runtimes reserve it. */
	if (mmap(NULL, (size_t)1 << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0) == MAP_FAILED)
		exit(1);
	victim_ready(1);
	victim_rest(NULL);
}
