// SPDX-License-Identifier: Apache-2.0
/*
 * keepers BOARD: functions that keep a known amount of memory. A test writes an order to the
 * board's `reserved`: its lowest byte is the kind (enum order), the rest is a number, mostly of MB
 * (2^20 bytes). When that is done, `reserved` is 0 again.
 *
 * jemalloc does not round the sizes of these blocks, so that a number of MB is exact.
 */
#include "tests/target/victim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MB (UINT64_C(1) << 20)
#define KEPT_MAX (UINT64_C(1) << 20)
#define CACHE 1024 /* blocks of 16 KiB */

/* tests/sample.sh has the same numbers. */
enum order {
	LEAK = 1,    /* kept, by malloc */
	CHURN,	     /* allocated and freed: malloc, */
	CHURN_SIZED, /* mallocx and sdallocx, */
	PASS,	     /* and malloc here, free in another thread */
	CACHED,	     /* of 16 MB that stay, each block is replaced in turn */
	GROW,	     /* kept, by realloc that doubles the size, up to 1 MB each */
	SHRINK,	     /* kept: the rest of four times as much, by xallocx in place */
	CALLOC,	     /* kept, by these */
	POSIX,
	ALIGNED,
	THREADS, /* kept: each MB by its own thread, which exits */
	FREE,	 /* free all that LEAK kept */
	FORK,	 /* a child frees all that, leaks as much, and frees it; beats[2] is its pid */
	REAP,	 /* let it exit: beats[3] is its status */
	EXEC,
	EXIT,
	WEIRD, /* allocations that fail, of each power of two and above */
	IDLE,  /* that many threads, not MB, allocate once and then wait; then */
	END,   /* they exit, and their stacks are reused */
	FLOOD, /* allocated and freed, in KiB each, until `reserved` is something else */
};

extern void *mallocx(size_t size, int flags);
extern size_t xallocx(void *p, size_t size, size_t extra, int flags);
extern void sdallocx(void *p, size_t size, int flags);

static void *kept[KEPT_MAX];
static size_t n_kept;
static uint64_t *child_may_end;

#define KEEPER static __attribute__((noinline, noclone)) void
#define SEEN(p) __asm__ volatile("" : "+r"(p) : : "memory")

static void *found(void *p)
{
	if (!p)
		FOUND(failed);
	SEEN(p);
	return p;
}

static void keep(void *p)
{
	*(char *)p = 1;
	if (n_kept == KEPT_MAX)
		FOUND(failed);
	else
		kept[n_kept++] = p;
}

/* Mostly small blocks: of 64 KiB, half is in blocks of 4 KiB, half in blocks of 256 bytes. */
KEEPER leak_blocks(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += 64 << 10) {
		for (int i = 0; i < 8; i++)
			keep(found(malloc(4096)));
		for (int i = 0; i < 128; i++)
			keep(found(malloc(256)));
	}
}

KEEPER free_blocks(void)
{
	while (n_kept)
		free(kept[--n_kept]);
}

KEEPER churn_blocks(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += 2048)
		free(found(malloc(2048)));
}

KEEPER churn_sized(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += 2048)
		sdallocx(found(mallocx(2048, 0)), 2048, 0);
}

static void *free_passed(void *blocks)
{
	for (void **p = blocks; *p; p++)
		free(*p);
	return NULL;
}

/* One MB for each thread. */
KEEPER pass_blocks(uint64_t bytes)
{
	static void *blocks[513];
	pthread_t thread;

	for (uint64_t done = 0; done < bytes; done += MB) {
		for (int i = 0; i < 512; i++)
			blocks[i] = found(malloc(2048));
		if (pthread_create(&thread, NULL, free_passed, blocks) ||
		    pthread_join(thread, NULL))
			FOUND(failed);
	}
}

KEEPER replace_cached(uint64_t bytes)
{
	static void *cache[CACHE];
	static size_t at;

	for (uint64_t done = 0; done < bytes; done += 16 << 10) {
		free(cache[at % CACHE]);
		cache[at++ % CACHE] = found(malloc(16 << 10));
	}
}

KEEPER grow_arrays(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += MB) {
		void *p = found(malloc(64));

		for (size_t size = 128; size <= MB; size *= 2)
			p = found(realloc(p, size));
		keep(p);
	}
}

KEEPER shrink_arrays(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += MB) {
		void *p = found(mallocx(4 * MB, 0));

		if (xallocx(p, MB, 0, 0) != MB)
			FOUND(failed);
		keep(p);
	}
}

KEEPER calloc_blocks(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += 4096)
		keep(found(calloc(64, 64)));
}

KEEPER posix_blocks(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += 4096) {
		void *p = NULL;

		if (posix_memalign(&p, 64, 4096))
			FOUND(failed);
		keep(found(p));
	}
}

KEEPER align_blocks(uint64_t bytes)
{
	for (uint64_t done = 0; done < bytes; done += 4096)
		keep(found(aligned_alloc(64, 4096)));
}

/* Values of this key are freed by free(3), which many programs use so. */
static pthread_key_t freed_key;

static __attribute__((noinline, noclone)) void *allocate_once(void *arg)
{
	void *p = found(malloc(MB));

	(void)arg;
	if (pthread_setspecific(freed_key, found(malloc(100))))
		FOUND(failed);
	SEEN(p);
	return p;
}

static void run_threads(uint64_t n)
{
	for (; n; n--) {
		pthread_t thread;
		void *p;

		if (pthread_create(&thread, NULL, allocate_once, NULL) || pthread_join(thread, &p))
			FOUND(failed);
		keep(p);
	}
}

static void fork_child(uint64_t bytes)
{
	pid_t pid = fork();

	if (pid < 0)
		FOUND(failed);
	if (pid) {
		board->beats[2] = (uint64_t)pid;
		return;
	}
	free_blocks();
	leak_blocks(bytes);
	free_blocks();
	__atomic_store_n(&board->beats[4], (uint64_t)getpid(), __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(child_may_end, __ATOMIC_SEQ_CST))
		victim_nap(5);
	_exit(0);
}

static void reap_child(void)
{
	int status = -1;

	__atomic_store_n(child_may_end, 1, __ATOMIC_SEQ_CST);
	if (waitpid((pid_t)board->beats[2], &status, 0) < 0)
		FOUND(failed);
	board->beats[3] = (uint64_t)status;
	__atomic_store_n(child_may_end, 0, __ATOMIC_SEQ_CST);
}

static void fail_allocations(void)
{
	for (int shift = 47; shift < 64; shift++) {
		for (uint64_t more = 0; more < 3; more++) {
			size_t size = (UINT64_C(1) << shift) + more * 12345;
			void *volatile p;

			SEEN(size);
			p = malloc(size);
			if (p)
				FOUND(failed);
			SEEN(size);
			p = calloc(size, 3);
			if (p)
				FOUND(failed);
		}
	}
}

static pthread_t idlers[64];
static size_t n_idlers;
static pthread_mutex_t may_end = PTHREAD_MUTEX_INITIALIZER;

static void *idle(void *arg)
{
	free(found(malloc(100)));
	__atomic_fetch_add(&board->beats[6], 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&may_end);
	pthread_mutex_unlock(&may_end);
	return arg;
}

static void start_idlers(uint64_t n)
{
	board->beats[6] = 0;
	pthread_mutex_lock(&may_end);
	for (n_idlers = 0; n_idlers < n && n_idlers < 64; n_idlers++)
		if (pthread_create(&idlers[n_idlers], NULL, idle, NULL))
			FOUND(failed);
	while (__atomic_load_n(&board->beats[6], __ATOMIC_SEQ_CST) < n_idlers)
		victim_nap(5);
}

static void end_idlers(void)
{
	pthread_mutex_unlock(&may_end);
	while (n_idlers)
		pthread_join(idlers[--n_idlers], NULL);
}

/* Blocks of n KiB: large ones go beyond the thread's cache. */
static void flood(uint64_t n)
{
	while (__atomic_load_n(&board->reserved, __ATOMIC_SEQ_CST) == (FLOOD | n << 8)) {
		for (int i = 0; i < 1000; i++)
			free(found(malloc(n << 10)));
		victim_nap(1); /* a thread that is always in malloc() is not borrowed */
	}
}

static void obey(enum order order, uint64_t n)
{
	static void (*const keepers[])(uint64_t) = {
		[LEAK] = leak_blocks,	   [CHURN] = churn_blocks,   [CHURN_SIZED] = churn_sized,
		[PASS] = pass_blocks,	   [GROW] = grow_arrays,     [SHRINK] = shrink_arrays,
		[CACHED] = replace_cached, [CALLOC] = calloc_blocks, [POSIX] = posix_blocks,
		[ALIGNED] = align_blocks,  [FORK] = fork_child,
	};

	if (order < sizeof(keepers) / sizeof(*keepers) && keepers[order])
		keepers[order](n * MB);
	else if (order == THREADS)
		run_threads(n);
	else if (order == FREE)
		free_blocks();
	else if (order == REAP)
		reap_child();
	else if (order == EXEC)
		execl("/bin/sleep", "sleep", "300", NULL);
	else if (order == EXIT)
		exit(0);
	else if (order == WEIRD)
		fail_allocations();
	else if (order == IDLE)
		start_idlers(n);
	else if (order == END)
		end_idlers();
	else if (order == FLOOD)
		flood(n);
	else
		FOUND(failed);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: keepers BOARD\n");
		return 2;
	}
	victim_open(argv[1]);
	if (pthread_key_create(&freed_key, free))
		FOUND(failed);
	child_may_end = &board->beats[5];
	victim_ready(2);
	for (;;) {
		uint64_t order = __atomic_load_n(&board->reserved, __ATOMIC_SEQ_CST);

		if (order) {
			obey((enum order)(order & 0xff), order >> 8);
			__atomic_store_n(&board->reserved, 0, __ATOMIC_SEQ_CST);
		}
		victim_nap(5);
		victim_beat(0);
		victim_beat(1);
	}
}
