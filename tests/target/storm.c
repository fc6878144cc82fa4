// SPDX-License-Identifier: Apache-2.0
/*
 * storm BOARD KIND [THREADS]: threads that only do what is difficult for an injection, as fast as
 * they can, including the main thread. No thread rests in a system call where it could be borrowed
 * easily.
 */
#include "tests/target/block.h"

#include <dlfcn.h>
#include <errno.h>
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 256

struct self {
	unsigned int id;
	uint64_t began_ns; /* when the work between two breaths began */
	uint64_t seed;
	struct block blocks[SLOTS];
};

static uint64_t next(struct self *s)
{
	return block_random(&s->seed);
}

static void replace(struct self *s, struct block *b, size_t words, size_t align)
{
	if (b->data)
		block_verify(b);
	free(b->data);
	*b = (struct block){ .seed = next(s), .words = words };
	b->data = align ? aligned_alloc(align, words * sizeof(uint64_t))
			: malloc(words * sizeof(uint64_t));
	if (!b->data || (align && (uintptr_t)b->data % align)) {
		FOUND(failed);
		abort();
	}
	block_fill(b);
}

static void storm_small(struct self *s)
{
	replace(s, &s->blocks[next(s) % SLOTS], 2 + next(s) % 64, 0);
}

static void storm_large(struct self *s)
{
	replace(s, &s->blocks[next(s) % 16], 4096 + next(s) % 65536, 0);
}

static void storm_aligned(struct self *s)
{
	replace(s, &s->blocks[next(s) % SLOTS], 2 + next(s) % 1024, 16u << next(s) % 9);
}

static void storm_realloc(struct self *s)
{
	struct block *b = &s->blocks[next(s) % SLOTS];
	size_t words = 2 + next(s) % (next(s) % 16 ? 128 : 8192);

	if (!b->data)
		replace(s, b, 16, 0);
	if (!block_resize(b, words)) {
		FOUND(failed);
		abort();
	}
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * Stay out of the allocator and the loader for an eighth of the time, however long they take on
 * this machine's kernel: an attempt to stop the thread then must not come too late.
 */
static void breathe(struct self *s)
{
	uint64_t now = now_ns(), until = now + (s->began_ns ? now - s->began_ns : 0) / 8;

	do {
		for (size_t i = 0; i < SLOTS; i++)
			if (s->blocks[i].data)
				block_verify(&s->blocks[i]);
		s->began_ns = now_ns();
	} while (s->began_ns < until);
}

/* One thread frees what another one has allocated. */
static void storm_cross(struct self *s)
{
	static struct block *shared[SLOTS];
	struct block *mine = malloc(sizeof(*mine)), *theirs;

	if (!mine)
		abort();
	*mine = (struct block){ 0 };
	replace(s, mine, 2 + next(s) % 256, 0);
	theirs = __atomic_exchange_n(&shared[next(s) % SLOTS], mine, __ATOMIC_ACQ_REL);
	if (!theirs)
		return;
	block_verify(theirs);
	free(theirs->data);
	free(theirs);
}

/*
 * A block so large that moving it takes long; the thread is hardly ever outside of the allocator.
 */
static void storm_huge(struct self *s)
{
	static size_t words = 1 << 21;

	words ^= 3 << 21;
	s->blocks[0].data = realloc(s->blocks[0].data, words * sizeof(uint64_t));
	if (!s->blocks[0].data)
		FOUND(failed);
	else
		memset(s->blocks[0].data, 1, words * sizeof(uint64_t));
}

static void storm_dlopen(struct self *s)
{
	void *lib = dlopen("libanl.so.1", RTLD_NOW); /* small, and not loaded yet */

	if (!lib || !dlsym(lib, "getaddrinfo_a"))
		FOUND(failed);
	if (lib)
		dlclose(lib);
	storm_small(s);
	breathe(s);
}

static void storm_fork(struct self *s)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		storm_small(s);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		if (errno == EINTR)
			FOUND(eintr);
		else
			FOUND(failed);
	} else if (status) {
		FOUND(corrupt);
	}
	storm_small(s);
}

static void *short_life(void *arg)
{
	void *p = malloc((size_t)(uintptr_t)arg);

	free(p);
	return p ? arg : NULL;
}

static void storm_threads(struct self *s)
{
	void *arg = (void *)(uintptr_t)(1 + next(s) % 4096), *result;
	pthread_t thread;

	if (pthread_create(&thread, NULL, short_life, arg) != 0)
		FOUND(failed);
	else if (pthread_join(thread, &result) != 0 || result != arg)
		FOUND(failed);
	storm_small(s);
}

/* The C library has each thread make the call, and waits until all have done so (nptl(7)). */
static void storm_setxid(struct self *s)
{
	if (setegid(getegid()) != 0)
		FOUND(failed);
	storm_small(s);
	/* Others can send this signal faster than a traced thread can take it. */
	victim_nap(1);
}

static void print_slowly(void *arg, const char *text)
{
	const struct self *s = arg;

	(void)text;
	victim_nap(1);
	victim_beat(s->id);
}

/* Block in a system call that is called from the allocator: it must never be borrowed. */
static void storm_inside(struct self *s)
{
	for (;;)
		malloc_stats_print(print_slowly, s, NULL);
}

static const struct kind {
	const char *name;
	void (*step)(struct self *s);
} kinds[] = {
	{ "small", storm_small },     { "large", storm_large },	  { "realloc", storm_realloc },
	{ "aligned", storm_aligned }, { "cross", storm_cross },	  { "huge", storm_huge },
	{ "dlopen", storm_dlopen },   { "fork", storm_fork },	  { "threads", storm_threads },
	{ "setxid", storm_setxid },   { "inside", storm_inside },
};

static const struct kind *kind;

static void *work(void *arg)
{
	struct self *s = calloc(1, sizeof(*s));

	if (!s)
		exit(2);
	s->id = (unsigned int)(uintptr_t)arg;
	s->seed = 0x9e3779b97f4a7c15ull * (s->id + 1);
	for (;;) {
		kind->step(s);
		victim_beat(s->id);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int threads = argc > 3 ? (unsigned int)strtoul(argv[3], NULL, 10) : 1;

	for (size_t i = 0; argc > 2 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(argv[2], kinds[i].name) == 0)
			kind = &kinds[i];
	if (!kind || threads < 1 || threads > VICTIM_BEATS) {
		fprintf(stderr, "usage: storm BOARD KIND [THREADS]\n");
		return 2;
	}
	victim_open(argv[1]);
	victim_threads(threads - 1, work);
	victim_ready(threads);
	work(NULL);
}
