// SPDX-License-Identifier: Apache-2.0
/*
 * drowner DEVICE FOLDER: as any user may, mounts its own file system (FUSE, DEVICE is /dev/fuse) on
 * FOLDER, in its own namespaces. The stack of a thread is in a file on it. Most of its pages are
 * present; one in the middle is not, and reading it blocks forever. Prints "PID ADDRESS", of itself
 * and of that page, when it is ready.
 */
#include "tests/target/fuse.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE FUSE_FILE_SIZE
#define PAGE 4096u
#define MISSING (SIZE - 64u * PAGE) /* the offset in the file */

static volatile int ready;

static bool not_the_missing(const struct fuse_in_header *in, const struct fuse_read_in *read)
{
	(void)in;
	return !read || MISSING < read->offset || MISSING >= read->offset + read->size;
}

/* Wait far below the missing page. */
static void *wait_below(void *unused)
{
	volatile char gap[128 * PAGE];
	void *volatile own = malloc(1); /* one that never called jemalloc is not borrowed first */

	free(own);
	gap[0] = unused != NULL;
	ready = 1;
	while (!gap[0])
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t thread;
	char path[256];
	char *stack;
	int fd;

	if (argc < 3) {
		fprintf(stderr, "usage: drowner DEVICE FOLDER\n");
		return 2;
	}
	fuse_serve(fuse_mount(argv[1], argv[2], true), not_the_missing, NULL);
	snprintf(path, sizeof(path), "%s/stack", argv[2]);
	fd = open(path, O_RDONLY);
	stack = fd < 0 ? MAP_FAILED : mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (stack == MAP_FAILED)
		fuse_die(path);
	for (size_t at = 0; at < SIZE; at += PAGE)
		if (at != MISSING)
			(void)*(volatile char *)(stack + at);
	fuse_lock_page(stack + MISSING);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, SIZE);
	if (pthread_create(&thread, &attr, wait_below, NULL))
		fuse_die("pthread_create");
	while (!ready)
		usleep(1000);
	printf("%d %p\n", getpid(), (void *)(stack + MISSING));
	fflush(stdout);
	for (;;)
		sleep(1);
}
