// SPDX-License-Identifier: Apache-2.0
/*
 * An allocator that emits otel_memory: glibc's, and a sample of every 64 KiB on average, as the
 * contract of OpenTelemetry demands, by probes of sys/sdt.h with semaphores. To be preloaded, or
 * linked into a program, which has no jemalloc then; what that program uses of jemalloc's interface
 * is here, too.
 *
 * The probes have their arguments in different places, by types and optimization.
 */
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))
#define SEMAPHORE __attribute__((section(".probes"), visibility("hidden")))
#define RATE 65536.0
#define SETS 65536
#define WAYS 64

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *p);

extern void *mallocx(size_t size, int flags);
extern void sdallocx(void *p, size_t size, int flags);
extern size_t xallocx(void *p, size_t size, size_t extra, int flags);

unsigned short otel_memory_alloc_semaphore SEMAPHORE, otel_memory_free_semaphore SEMAPHORE;

/* The sampled objects. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t sampled[SETS][WAYS];
static unsigned char counts[SETS];

static __thread double left;
static __thread uint64_t random_state;

static size_t set_of(const void *p)
{
	return ((uintptr_t)p >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 48;
}

static double gap(void)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return -RATE * log((double)((random_state >> 11) + 1) / (double)(UINT64_C(1) << 53));
}

/* 1, unless there is a breakpoint within this instruction. */
static __attribute__((noinline, noclone)) int one(void)
{
	int value;

	__asm__ volatile("emitter_one: movl $1, %0" : "=a"(value));
	return value;
}

/* True if it is sampled. */
static bool remember(const void *p, size_t size)
{
	size_t set = set_of(p);
	bool known = false;

	if (!random_state) {
		random_state = (uintptr_t)&random_state * UINT64_C(0x9e3779b97f4a7c15) | 1;
		left = gap();
	}
	if (one() != 1)
		abort();
	if (!p || !size)
		return false;
	left -= (double)size;
	if (left > 0)
		return false;
	while (left <= 0)
		left += gap();
	pthread_mutex_lock(&lock);
	for (int i = 0; i < WAYS && !known; i++) {
		if (sampled[set][i])
			continue;
		sampled[set][i] = (uintptr_t)p;
		counts[set]++;
		known = true;
	}
	pthread_mutex_unlock(&lock);
	if (!known)
		abort();
	return otel_memory_alloc_semaphore;
}

static uint64_t weight(size_t size)
{
	return (uint64_t)llround((double)size / -expm1(-(double)size / RATE));
}

static void forget(void *p)
{
	size_t set = set_of(p);

	if (!p || !__atomic_load_n(&counts[set], __ATOMIC_SEQ_CST))
		return;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < WAYS; i++) {
		if (sampled[set][i] != (uintptr_t)p)
			continue;
		sampled[set][i] = 0;
		counts[set]--;
		if (otel_memory_free_semaphore)
			STAP_PROBE1(otel_memory, free, p);
		break;
	}
	pthread_mutex_unlock(&lock);
}

EXPORTED void *malloc(size_t size)
{
	void *p = __libc_malloc(size);

	if (remember(p, size))
		STAP_PROBE3(otel_memory, alloc, p, size, weight(size));
	return p;
}

EXPORTED void free(void *p)
{
	forget(p);
	__libc_free(p);
}

/* A size of a smaller type, signed. */
EXPORTED void *calloc(size_t n, size_t size)
{
	void *p = __libc_calloc(n, size);
	int all = (int)(n * size);

	if (remember(p, n * size))
		STAP_PROBE3(otel_memory, alloc, p, all, weight(n * size));
	return p;
}

EXPORTED void *realloc(void *old, size_t size)
{
	void *p;

	forget(old);
	p = __libc_realloc(old, size);
	if (remember(p, size))
		STAP_PROBE3(otel_memory, alloc, p, size, weight(size));
	return p;
}

/* Arguments in memory. */
__attribute__((optimize("O0"), noinline)) static void emit_from_memory(void *p, uint32_t size,
								       uint64_t bytes)
{
	STAP_PROBE3(otel_memory, alloc, p, size, bytes);
}

EXPORTED int posix_memalign(void **out, size_t align, size_t size)
{
	*out = __libc_memalign(align, size);
	if (remember(*out, size))
		emit_from_memory(*out, (uint32_t)size, weight(size));
	return *out ? 0 : ENOMEM;
}

/* Constants, for the size that keepers use. */
EXPORTED void *aligned_alloc(size_t align, size_t size)
{
	void *p = __libc_memalign(align, size);

	if (size == 4096) {
		if (remember(p, 4096))
			STAP_PROBE3(otel_memory, alloc, p, 4096, 67605);
	} else if (remember(p, size)) {
		STAP_PROBE3(otel_memory, alloc, p, size, weight(size));
	}
	return p;
}

EXPORTED void *mallocx(size_t size, int flags)
{
	(void)flags;
	return malloc(size);
}

EXPORTED void sdallocx(void *p, size_t size, int flags)
{
	(void)size, (void)flags;
	free(p);
}

/* It can only make objects smaller. */
EXPORTED size_t xallocx(void *p, size_t size, size_t extra, int flags)
{
	const uintptr_t was = (uintptr_t)p;

	(void)extra, (void)flags;
	p = realloc(p, size);
	return (uintptr_t)p == was ? size : 0;
}
