// SPDX-License-Identifier: Apache-2.0
/*
 * stacks FILE: a program with 65,536 live allocations, each by another stack, and two threads that
 * record the longest time in which they did not run. Prints "ready"; FILE contains that time in
 * microseconds, and its reader sets it to 0.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 16 /* there are 2^DEPTH stacks */
#define BYTES 64

static void *volatile last;
static _Atomic uint64_t *longest_us;

static void left(unsigned int depth, unsigned int bits);
static void right(unsigned int depth, unsigned int bits);

__attribute__((noinline)) static void descend(unsigned int depth, unsigned int bits)
{
	if (depth == DEPTH)
		last = malloc(BYTES);
	else if (bits & 1)
		left(depth + 1, bits >> 1);
	else
		right(depth + 1, bits >> 1);
	__asm__ volatile("" ::: "memory"); /* no tail call: each level is a frame */
}

__attribute__((noinline)) static void left(unsigned int depth, unsigned int bits)
{
	descend(depth, bits);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void right(unsigned int depth, unsigned int bits)
{
	descend(depth, bits);
	__asm__ volatile("" ::: "memory");
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Work for a moment, rest for a moment: a gap that exceeds the rest is a stall. */
static void *watch(void *arg)
{
	const struct timespec rest = { .tv_nsec = 100000 };
	uint64_t before = now_us(), now;

	(void)arg;
	for (;;) {
		nanosleep(&rest, NULL);
		now = now_us();
		if (now - before > *longest_us)
			*longest_us = now - before;
		before = now;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	pthread_t thread;

	if (fd < 0 || ftruncate(fd, sizeof(*longest_us)) != 0) {
		fprintf(stderr, "usage: stacks FILE\n");
		return 2;
	}
	longest_us = mmap(NULL, sizeof(*longest_us), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (longest_us == MAP_FAILED)
		return 2;
	for (unsigned int bits = 0; bits < 1u << DEPTH; bits++)
		descend(0, bits);
	if (pthread_create(&thread, NULL, watch, NULL) != 0)
		return 2;
	puts("ready");
	fflush(stdout);
	watch(NULL);
}
