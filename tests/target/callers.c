// SPDX-License-Identifier: Apache-2.0
/*
 * callers BOARD: functions that keep a known amount of memory by jemalloc's own functions, in
 * arenas and thread caches of their own, in ending threads, and in a storm of threads that free
 * what others allocated. They obey a board like keepers.c, and check what they get.
 *
 * jemalloc does not round the sizes of these blocks, so that a number of MB is exact.
 */
#include "tests/target/block.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB (UINT64_C(1) << 20)
#define KEPT_MAX (UINT64_C(1) << 18)
#define STORMERS 4
#define SLOTS 1024

/* tests/sample.sh has the same numbers. */
enum order {
	FREE = 12,   /* all that is kept */
	ARENAS = 21, /* kept, in an arena without a thread cache; as much is freed again */
	CACHES,	 /* allocated and freed, in a thread cache of its own: aligned and zeroed, or not */
	MOVES,	 /* kept: small blocks that grow by rallocx; xallocx cannot resize them */
	RESIZES, /* kept: 1 MB each, after they shrank to a quarter */
	ENDS,	 /* kept, by ending threads; as much is freed again */
	STORM,	 /* allocated and freed, each by any of the threads and functions */
};

/* Of jemalloc 5; the project has a header of the same name. */
extern void *mallocx(size_t size, int flags);
extern void *rallocx(void *p, size_t size, int flags);
extern size_t xallocx(void *p, size_t size, size_t extra, int flags);
extern size_t sallocx(const void *p, int flags);
extern size_t nallocx(size_t size, int flags);
extern void dallocx(void *p, int flags);
extern void sdallocx(void *p, size_t size, int flags);
extern int mallctl(const char *name, void *old, size_t *old_len, void *new, size_t new_len);
#define MALLOCX_ALIGN(a) __builtin_ctz(a)
#define MALLOCX_ZERO 0x40
#define MALLOCX_TCACHE(i) ((int)((i) + 2U) << 8)
#define MALLOCX_TCACHE_NONE (1 << 8)
#define MALLOCX_ARENA(i) ((int)((i) + 1) << 20)

static struct {
	void *p;
	int flags;
} kept[KEPT_MAX];
static size_t n_kept;
static unsigned int arenas[STORMERS], cache;

#define CALLER static __attribute__((noinline, noclone)) void
#define SEEN(p) __asm__ volatile("" : "+r"(p) : : "memory")
#define IN_ARENA(i) (MALLOCX_ARENA(arenas[i]) | MALLOCX_TCACHE_NONE)

/* All functions must agree on its size. */
static void *sized(void *p, size_t size, int flags)
{
	if (!p)
		FOUND(failed);
	else if (malloc_usable_size(p) != size || sallocx(p, flags) != size ||
		 nallocx(size, flags) != size)
		FOUND(corrupt);
	SEEN(p);
	return p;
}

static void keep(void *p, int flags)
{
	if (n_kept == KEPT_MAX) {
		FOUND(failed);
		return;
	}
	*(char *)p = 1;
	kept[n_kept].p = p;
	kept[n_kept++].flags = flags;
}

CALLER free_blocks(void)
{
	while (n_kept) {
		n_kept--;
		dallocx(kept[n_kept].p, kept[n_kept].flags);
	}
}

CALLER arena_blocks(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += 4096) {
		void *p = sized(mallocx(4096, IN_ARENA(0)), 4096, IN_ARENA(0));

		keep(sized(mallocx(4096, IN_ARENA(0)), 4096, IN_ARENA(0)), MALLOCX_TCACHE_NONE);
		dallocx(p, MALLOCX_TCACHE_NONE);
	}
}

CALLER cache_blocks(uint64_t bytes)
{
	const int flags = MALLOCX_TCACHE(cache);
	const int aligned = flags | MALLOCX_ALIGN(256) | MALLOCX_ZERO;

	for (uint64_t done = 0; done < bytes; done += 4096) {
		void *p = sized(mallocx(2048, flags), 2048, flags);
		char *zeroed = sized(mallocx(2048, aligned), 2048, aligned);

		if ((uintptr_t)zeroed % 256 || zeroed[0] || memcmp(zeroed, zeroed + 1, 2047))
			FOUND(corrupt);
		memset(p, 1, 2048);
		memset(zeroed, 1, 2048);
		sdallocx(p, 2048, flags);
		sdallocx(zeroed, 2048, flags | MALLOCX_ALIGN(256));
	}
}

CALLER move_blocks(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += 4096) {
		char *p = sized(mallocx(1024, 0), 1024, 0);

		p[1023] = 77;
		p = sized(rallocx(p, 4096, IN_ARENA(1)), 4096, IN_ARENA(1));
		if (p[1023] != 77)
			FOUND(corrupt);
		if (xallocx(p, 1024, 0, 0) != 4096 || xallocx(p, 8192, 4096, 0) != 4096)
			FOUND(failed);
		keep(p, 0);
	}
}

/* Whether there is room to grow in place depends on the rest of the memory. */
CALLER resize_blocks(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += MB) {
		void *p = sized(mallocx(MB, 0), MB, 0);

		if (xallocx(p, MB / 4, 0, 0) != MB / 4 || sallocx(p, 0) != MB / 4)
			FOUND(failed);
		if (xallocx(p, MB, 0, 0) != MB)
			p = rallocx(p, MB, 0);
		keep(sized(p, MB, 0), 0);
	}
}

/* --- threads --- */

/* Called twice in each thread, after jemalloc's own function of the kind: its key is older. */
static pthread_key_t ending;

CALLER allocate_at_end(void *rounds)
{
	uint64_t *round = rounds;

	for (int i = 0; i < 128; i++) {
		void *p = sized(malloc(4096), 4096, 0);

		keep(sized(malloc(4096), 4096, 0), 0);
		free(p);
	}
	if (!*round && pthread_setspecific(ending, calloc(1, sizeof(*round))))
		FOUND(failed);
	if (!*round)
		*(uint64_t *)pthread_getspecific(ending) = 1;
	free(round);
}

static void *end(void *arg)
{
	if (pthread_setspecific(ending, calloc(1, sizeof(uint64_t))))
		FOUND(failed);
	return arg;
}

static void end_threads(uint64_t n)
{
	for (; n; n--) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, end, NULL) || pthread_join(thread, NULL))
			FOUND(failed);
	}
}

static void *slots[SLOTS];
static uint64_t storm_bytes; /* for each thread */

/* `*done` increases by what it allocated. */
static void *allocate_any(uint64_t how, size_t size, unsigned int self, uint64_t *done)
{
	void *p = NULL;

	*done += size;
	switch (how % 6) {
	case 0:
		return malloc(size);
	case 1:
		return calloc(size / 16, 16);
	case 2:
		return aligned_alloc(64, size);
	case 3:
		return posix_memalign(&p, 128, size) ? NULL : p;
	case 4:
		return mallocx(size, IN_ARENA(self));
	default:
		*done += size / 2;
		return realloc(mallocx(size / 2, IN_ARENA(self)), size);
	}
}

static void free_any(uint64_t how, struct block *b)
{
	block_verify(b);
	if (malloc_usable_size(b->data) != b->words * 8)
		FOUND(corrupt);
	switch (how % 3) {
	case 0:
		free(b->data);
		break;
	case 1:
		dallocx(b->data, MALLOCX_TCACHE_NONE);
		break;
	default:
		sdallocx(b->data, b->words * 8, 0);
	}
}

/* Its first two words are its seed and length, so that the thread that frees it can check it. */
static void free_slot(void *p, uint64_t how)
{
	uint64_t *data = p;
	struct block b = { .seed = data[0], .words = data[1], .data = data };

	data[1] = b.seed + 1;
	free_any(how, &b);
}

CALLER storm_blocks(unsigned int self)
{
	uint64_t seed = 4711 + self, done = 0;

	while (done < storm_bytes) {
		size_t size = (size_t)256 << block_random(&seed) % 5;
		struct block b = { .seed = seed, .words = size / 8 };
		void *p = allocate_any(seed >> 8, size, self, &done);

		if (!p) {
			FOUND(failed);
			return;
		}
		b.data = p;
		block_fill(&b);
		b.data[1] = b.words;
		p = __atomic_exchange_n(&slots[block_random(&seed) % SLOTS], p, __ATOMIC_ACQ_REL);
		if (p)
			free_slot(p, seed >> 16);
	}
}

static void *storm_thread(void *number)
{
	storm_blocks((unsigned int)(uintptr_t)number);
	return NULL;
}

static void storm(uint64_t bytes)
{
	pthread_t threads[STORMERS];

	storm_bytes = bytes / STORMERS;
	for (uintptr_t i = 0; i < STORMERS; i++)
		if (pthread_create(&threads[i], NULL, storm_thread, (void *)i))
			FOUND(failed);
	for (int i = 0; i < STORMERS; i++)
		if (pthread_join(threads[i], NULL))
			FOUND(failed);
	for (int i = 0; i < SLOTS; i++) {
		if (slots[i])
			free_slot(slots[i], (uint64_t)i);
		slots[i] = NULL;
	}
}

static void obey(enum order order, uint64_t n)
{
	if (order == FREE)
		free_blocks();
	else if (order == ARENAS)
		arena_blocks(n * MB);
	else if (order == CACHES)
		cache_blocks(n * MB);
	else if (order == MOVES)
		move_blocks(n * MB);
	else if (order == RESIZES)
		resize_blocks(n * MB);
	else if (order == ENDS)
		end_threads(n);
	else if (order == STORM)
		storm(n * MB);
	else
		FOUND(failed);
}

static void prepare(void)
{
	size_t len = sizeof(unsigned int);

	for (int i = 0; i < STORMERS; i++)
		if (mallctl("arenas.create", &arenas[i], &len, NULL, 0))
			FOUND(failed);
	if (mallctl("tcache.create", &cache, &len, NULL, 0) ||
	    pthread_key_create(&ending, allocate_at_end))
		FOUND(failed);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: callers BOARD\n");
		return 2;
	}
	victim_open(argv[1]);
	prepare();
	victim_ready(1);
	for (;;) {
		uint64_t order = __atomic_load_n(&board->reserved, __ATOMIC_SEQ_CST);

		if (order) {
			obey((enum order)(order & 0xff), order >> 8);
			__atomic_store_n(&board->reserved, 0, __ATOMIC_SEQ_CST);
		}
		victim_nap(5);
		victim_beat(0);
	}
}
