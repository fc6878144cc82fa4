// SPDX-License-Identifier: Apache-2.0
/* The code that is mapped into targets: its hooks, called as jemalloc calls them. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/block.h"

#define HANDLE ((void *)0x1234)
#define CALLS UINT64_C(400000)

/* hook_alloc_t in jemalloc 5.3.0. */
enum { MALLOC, POSIX_MEMALIGN, ALIGNED_ALLOC, CALLOC, MEMALIGN, VALLOC, MALLOCX, REALLOC, RALLOCX };

struct hooks {
	void (*alloc)(void *, unsigned int, void *, uint64_t, const uint64_t *);
	void (*dalloc)(void *, unsigned int, void *, const uint64_t *);
	void (*expand)(void *, unsigned int, void *, size_t, size_t, uint64_t, const uint64_t *);
	void *extra;
};

static struct hooks hooks;

/* The calls of mallctl(), and the result it must return. */
static struct {
	int installs, removes, answer;
	uint32_t phase;
	void *handle;
	bool calls_back; /* an allocation happens during the call */
} ctl;

/* --- replacement for jemalloc --- */

static void allocate(uint64_t address, uint64_t size)
{
	const uint64_t args[3] = { size };

	hooks.alloc(hooks.extra, MALLOC, (void *)address, address, args);
}

static void release(uint64_t address)
{
	const uint64_t args[3] = { address };

	hooks.dalloc(hooks.extra, 0, (void *)address, args);
}

static int fake_mallctl(const char *name, void *old, size_t *old_len, void *new, size_t new_len)
{
	ctl.phase = state->phase;
	if (!strcmp(name, "experimental.hooks.install")) {
		assert_int_equal(*old_len, sizeof(void *));
		assert_int_equal(new_len, sizeof(hooks));
		memcpy(&hooks, new, sizeof(hooks));
		memcpy(old, &(void *){ HANDLE }, sizeof(void *));
		ctl.installs++;
	} else {
		assert_string_equal(name, "experimental.hooks.remove");
		assert_null(old);
		assert_int_equal(new_len, sizeof(ctl.handle));
		memcpy(&ctl.handle, new, sizeof(ctl.handle));
		__atomic_fetch_add(&ctl.removes, 1, __ATOMIC_SEQ_CST);
	}
	if (ctl.calls_back) {
		memset(data, 0, sizeof(*data));
		allocate(0x1000, 100);
	}
	return ctl.answer;
}

/* --- replacement for a thread's exit --- */

static void (*slot)(void *); /* in the C library's table */
static _Thread_local uint8_t tsd_state;
static struct {
	int calls;
	uint8_t state; /* tsd_state at the time */
	int answer;    /* result of an installation at the time */
	bool installs;
} ended;

static int install_at(uint64_t sample_bytes, uint32_t realloc_type);

static void fake_cleanup(void *arg)
{
	assert_ptr_equal(arg, HANDLE);
	ended.calls++;
	ended.state = tsd_state;
	if (ended.installs)
		ended.answer = install_at(RATE, REALLOC);
}

static int guard_from(void (*was)(void *))
{
	const struct sampler_order order = {
		.what = SAMPLER_GUARD,
		.slot = (uint64_t)&slot,
		.cleanup = (uint64_t)was,
		.tsd_state = (int64_t)((uint64_t)&tsd_state - (uint64_t)__builtin_thread_pointer())
	};

	return control(&order, sizeof(order));
}

static int install_at(uint64_t sample_bytes, uint32_t realloc_type)
{
	const struct sampler_order order = { .what = SAMPLER_INSTALL,
					     .realloc_type = realloc_type,
					     .sample_bytes = sample_bytes,
					     .seed = SEED,
					     .mallctl = (uint64_t)fake_mallctl };

	return control(&order, sizeof(order));
}

/* All threads draw the same random numbers. */
static void draw_the_same(void)
{
	for (int i = 0; i < SAMPLER_THREADS; i++) {
		data->threads[i].random = SEED;
		data->threads[i].left = RATE / 2;
	}
}

static void begin(uint64_t sample_bytes)
{
	probe(true);
	assert_int_equal(install_at(sample_bytes, REALLOC), 0);
	draw_the_same();
}

static int set_up(void **unused)
{
	(void)unused;
	memset(&ctl, 0, sizeof(ctl));
	memset(&ended, 0, sizeof(ended));
	slot = fake_cleanup;
	return map_block() || guard_from(fake_cleanup);
}

/* --- installation and removal --- */

static void test_comes_and_leaves(void **unused)
{
	(void)unused;
	begin(RATE);
	assert_int_equal(ctl.phase, SAMPLER_COMING);
	assert_int_equal(state->phase, SAMPLER_IN);
	assert_int_equal(install_at(RATE, REALLOC), EBUSY);
	assert_int_equal(ctl.installs, 1);
	assert_int_equal(leave(), 0);
	assert_int_equal(ctl.phase, SAMPLER_LEAVING);
	assert_ptr_equal(ctl.handle, HANDLE);
	assert_int_equal(state->phase, SAMPLER_OUT);
	assert_int_equal(leave(), EAGAIN);
	assert_int_equal(ctl.removes, 1);
	assert_int_equal(install_at(RATE, REALLOC), 0); /* it can be installed again */
	assert_int_equal(ctl.installs, 2);
}

/* A thread that exits with the mark is cleaned up like one without it (tsd_cleanup()). */
static void test_thread_ends(void **unused)
{
	(void)unused;
	assert_ptr_equal(slot, base + sampler_offsets.end);
	for (uint8_t was = 0; was < 7; was++) {
		tsd_state = was;
		slot(HANDLE);
		assert_int_equal(ended.calls, was + 1);
		assert_int_equal(ended.state, was == 2 ? 1 : was);
	}
}

/* While a thread exits, neither installation nor removal marks threads. */
static void test_none_is_marked_at_its_end(void **unused)
{
	(void)unused;
	probe(true);
	ended.installs = true;
	slot(HANDLE);
	assert_int_equal(ended.answer, EINPROGRESS);
	assert_int_equal(ctl.installs, 0);
	assert_int_equal(state->phase, SAMPLER_OUT);
	ended.installs = false;
	begin(RATE);
	state->ending = 1;
	assert_int_equal(leave(), EINPROGRESS);
	assert_int_equal(state->phase, SAMPLER_IN);
	probe(false);
	allocate(0x1000, 100); /* not yet, for the same reason */
	assert_int_equal(ctl.removes, 0);
	state->ending = 0;
	allocate(0x1000, 100);
	assert_int_equal(ctl.removes, 1);
	assert_int_equal(state->phase, SAMPLER_OUT);
}

/* An exiting thread waits while threads are being marked, but not indefinitely. */
static void test_end_waits(void **unused)
{
	(void)unused;
	state->marking = 1;
	slot(HANDLE);
	assert_int_equal(ended.calls, 1);
	assert_int_equal(state->ending, 0);
}

static void test_guards_what_it_knows(void **unused)
{
	(void)unused;
	slot = (void (*)(void *))abort;
	assert_int_equal(guard_from((void (*)(void *))abort), 0); /* already guarded */
	assert_ptr_equal(slot, abort);
	state->cleanup = NULL;
	assert_int_equal(guard_from(fake_cleanup), EAGAIN); /* the slot has another function now */
	assert_ptr_equal(slot, abort);
	probe(true);
	assert_int_equal(install_at(RATE, REALLOC), ESRCH); /* without a guard */
}

static void test_refuses(void **unused)
{
	struct sampler_order order = { .what = SAMPLER_REMOVE, .mallctl = (uint64_t)abort };

	(void)unused;
	assert_int_equal(install_at(RATE, REALLOC), ESRCH); /* no probe is read */
	state->alloc_semaphore = 1;
	assert_int_equal(install_at(RATE, REALLOC), ESRCH); /* only one of them is */
	assert_int_equal(ctl.installs, 0);
	begin(RATE);
	assert_int_equal(control(&order, sizeof(order)), EINVAL); /* another mallctl() */
	assert_int_equal(control(&order, sizeof(order) - 1), EINVAL);
	assert_int_equal(state->phase, SAMPLER_IN);
	assert_int_equal(ctl.removes, 0);
}

static void test_mallctl_fails(void **unused)
{
	(void)unused;
	probe(true);
	ctl.answer = EAGAIN;
	assert_int_equal(install_at(RATE, REALLOC), EAGAIN);
	assert_int_equal(state->phase, SAMPLER_OUT);
	ctl.answer = 0;
	begin(RATE);
	ctl.answer = EFAULT;
	probe(false);
	for (int i = 0; i < 10; i++)
		allocate(0x1000, 100);
	assert_int_equal(ctl.removes, 1); /* jemalloc does not tolerate a second removal */
	assert_int_equal(state->phase, SAMPLER_LEAVING);
}

/*
 * A child forked during installation or removal never removes the hooks: jemalloc's lock may be
 * held there forever.
 */
static void test_never_leaves_while_it_moves(void **unused)
{
	(void)unused;
	ctl.calls_back = true;
	probe(true);
	assert_int_equal(install_at(RATE, REALLOC), 0);
	assert_int_equal(ctl.removes, 0);
	data->seed = SEED;
	assert_int_equal(leave(), 0);
	assert_int_equal(ctl.removes, 1);
	ctl.calls_back = false;
	for (uint32_t phase = SAMPLER_OUT; phase <= SAMPLER_LEAVING; phase++) {
		if (phase == SAMPLER_IN)
			continue;
		state->phase = phase;
		probe(false);
		allocate(0x1000, 100);
		release(0x1000);
		assert_int_equal(state->phase, phase);
	}
	assert_int_equal(ctl.removes, 1);
	/* Control: in the remaining phase it removes them. */
	state->phase = SAMPLER_IN;
	allocate(0x1000, 100);
	assert_int_equal(ctl.removes, 2);
}

static void test_leaves_where_its_data_is_gone(void **unused)
{
	(void)unused;
	begin(RATE);
	memset(data, 0, sizeof(*data)); /* as in a child */
	release(0x1000);
	assert_int_equal(ctl.removes, 0);
	allocate(0x1000, 100);
	allocate(0x2000, 100);
	assert_int_equal(ctl.removes, 1);
	assert_int_equal(state->phase, SAMPLER_OUT);
}

/* If two runs begin at the same time, one is refused. It must not end the other one. */
static void test_another_runs(void **unused)
{
	struct sampler_order order = { .what = SAMPLER_REMOVE,
				       .seed = SEED + 1,
				       .mallctl = (uint64_t)fake_mallctl };

	(void)unused;
	begin(RATE);
	assert_int_equal(control(&order, sizeof(order)), EBUSY);
	order.what = SAMPLER_REMOVE_UNREAD;
	assert_int_equal(control(&order, sizeof(order)), EBUSY);
	assert_int_equal(ctl.removes, 0);
	probe(false);
	assert_int_equal(control(&order, sizeof(order)), 0); /* it is no longer read */
	assert_int_equal(ctl.removes, 1);
}

/* It starts with empty data, even if the previous data was not zeroed. */
static void test_comes_clean(void **unused)
{
	static const struct sampler_data none;

	(void)unused;
	begin(RATE);
	memset(data, 0x55, sizeof(*data));
	data->seed = SEED;
	assert_int_equal(leave(), 0);
	assert_int_equal(install_at(RATE, REALLOC), 0);
	assert_int_equal(data->sample_bytes, RATE);
	assert_int_equal(data->seed, SEED);
	assert_int_equal(data->dropped, 0);
	assert_memory_equal(data->threads, none.threads, sizeof(none.threads));
	assert_memory_equal(data->counts, none.counts, sizeof(none.counts));
	assert_memory_equal(data->objects, none.objects, sizeof(none.objects));
}

static void test_one_semaphore_is_enough(void **unused)
{
	(void)unused;
	begin(RATE);
	state->free_semaphore = 0;
	allocate(0x1000, 100);
	assert_int_equal(ctl.removes, 1);
}

static void *allocate_often(void *arg)
{
	for (uint64_t i = 0; i < 20000; i++)
		allocate((uint64_t)arg << 32 | i << 4, 32);
	return NULL;
}

static void run_threads(void *(*fn)(void *), int n)
{
	pthread_t threads[8];

	for (intptr_t i = 0; i < n; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fn, (void *)(i + 1)), 0);
	for (int i = 0; i < n; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void test_leaves_once(void **unused)
{
	(void)unused;
	for (int round = 1; round <= 20; round++) {
		begin(RATE);
		probe(false);
		run_threads(allocate_often, 4);
		assert_int_equal(ctl.removes, round);
		assert_int_equal(state->phase, SAMPLER_OUT);
	}
}

/* --- sampling --- */

/* Expect about `n` of `of` at probability `p`, within six standard errors. */
static void expect_share(uint64_t n, uint64_t of, double p)
{
	double wanted = (double)of * p;

	if (fabs((double)n - wanted) > 6 * sqrt(wanted * (1 - p)) + 1)
		fail_msg("%lu of %lu, not %.1f", (unsigned long)n, (unsigned long)of, wanted);
}

static void sample_size(uint64_t size)
{
	const uint64_t calls = size < RATE ? CALLS : CALLS / 20;
	double p = -expm1(-(double)size / RATE), stands_for = (double)size / p;

	memset(&told, 0, sizeof(told));
	memset(data->objects, 0, sizeof(data->objects));
	memset(data->counts, 0, sizeof(data->counts));
	for (uint64_t i = 1; i <= calls; i++) {
		allocate(i << 4, size);
		release(i << 4);
	}
	expect_share(told.allocs, calls, p);
	assert_int_equal(told.frees, told.allocs);
	assert_int_equal(told.size, size);
	assert_true(fabs((double)told.bytes / stands_for - 1) < 0.001);
}

static void test_probability_and_weight(void **unused)
{
	static const uint64_t sizes[] = { 1,	    8,	       16,	  100,	     1000,
					  10000,    RATE / 2,  RATE - 1,  RATE,	     RATE + 1,
					  3 * RATE, 15 * RATE, 16 * RATE, 100 * RATE };

	(void)unused;
	begin(RATE);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		sample_size(sizes[i]);
	assert_int_equal(data->dropped, 0);
}

/* With random sizes, the samples together represent the sum of all sizes. */
static void test_sum(void **unused)
{
	uint64_t seed = SEED, size;
	double all = 0;

	(void)unused;
	begin(RATE);
	for (uint64_t i = 1; i <= CALLS; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		size = UINT64_C(16) << (seed >> 7) % 15;
		size += (seed >> 20) % size;
		all += (double)size;
		allocate(i << 4, size);
		release(i << 4);
	}
	/* Each of n samples represents about RATE bytes, so the error is below 6 / sqrt(n). */
	assert_true(told.allocs > 40000);
	assert_true(fabs(told.sum / all - 1) < 6 / sqrt((double)told.allocs));
}

/* 4 KiB to 1 TiB: nothing overflows. */
static void test_extreme_rates(void **unused)
{
	uint64_t before;

	(void)unused;
	begin(SAMPLER_BYTES_MIN);
	allocate(0x1000, UINT64_C(1) << 46);
	assert_int_equal(told.bytes, UINT64_C(1) << 46);
	assert_int_equal(leave(), 0);
	begin(SAMPLER_BYTES_MAX);
	for (uint64_t i = 1; i <= 20000; i++) {
		allocate(i << 4, SAMPLER_BYTES_MAX / 4);
		release(i << 4);
	}
	expect_share(told.allocs - 1, 20000, -expm1(-0.25));
	before = told.allocs;
	for (uint64_t i = 1; i <= 1000; i++)
		allocate(i << 4, SAMPLER_BYTES_MAX / 1000000);
	assert_true(told.allocs - before < 10);
}

static struct sampler_thread *this_thread(void)
{
	struct sampler_thread *t = data->threads;

	memset(data->threads, 0, sizeof(data->threads));
	allocate(0x1000, 1);
	while (!t->allocations)
		t++;
	return t;
}

/*
 * The first object of a new thread is sampled with the same probability: it may be the only one
 * that the thread allocates.
 */
static void test_first_of_a_thread(void **unused)
{
	const uint64_t threads = 20000;
	struct sampler_thread *t;

	(void)unused;
	begin(RATE);
	t = this_thread();
	for (uint64_t i = 1; i <= threads; i++) {
		*t = (struct sampler_thread){ 0 };
		data->seed = i * SEED ^ (uint64_t)t;
		allocate(i << 4, RATE);
		release(i << 4);
	}
	expect_share(told.allocs, threads, -expm1(-1));
}

/* The size of an object that is certain to be sampled. */
#define CERTAIN (RATE * UINT64_C(100))

static void allocate_by(unsigned int type, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t args[3] = { a, b, c };

	told.size = 0;
	hooks.alloc(hooks.extra, type, (void *)0x7000, type == POSIX_MEMALIGN ? 0 : 0x7000, args);
	assert_int_equal(told.address, 0x7000);
	release(0x7000);
}

static void expect_sizes(uint32_t realloc_type)
{
	static const unsigned int one[] = { MALLOC, VALLOC, MALLOCX };
	uint64_t size = CERTAIN + 7;

	probe(true);
	assert_int_equal(install_at(RATE, realloc_type), 0);
	draw_the_same();
	for (int i = 0; i < 3; i++) {
		allocate_by(one[i], size, 1, 2);
		assert_int_equal(told.size, size);
	}
	allocate_by(POSIX_MEMALIGN, 1, 2, size);
	assert_int_equal(told.size, size);
	allocate_by(ALIGNED_ALLOC, 64, size, 1);
	assert_int_equal(told.size, size);
	allocate_by(MEMALIGN, 64, size, 1);
	assert_int_equal(told.size, size);
	allocate_by(CALLOC, 11, size, 1);
	assert_int_equal(told.size, 11 * size);
	allocate_by(realloc_type, 0x7000, size, 1);
	assert_int_equal(told.size, size);
	allocate_by(realloc_type + 1, 0x7000, size, 1);
	assert_int_equal(told.size, size);
	assert_int_equal(leave(), 0);
}

static void test_sizes_of_each_function(void **unused)
{
	(void)unused;
	expect_sizes(REALLOC);
	expect_sizes(REALLOC + 1); /* 5.3.1 has one more before it */
}

static void test_expanded_in_place(void **unused)
{
	const uint64_t args[3] = { 0x7000, 3 * CERTAIN };

	(void)unused;
	begin(RATE);
	allocate(0x7000, CERTAIN);
	hooks.expand(hooks.extra, 0, (void *)0x7000, CERTAIN, CERTAIN, 0x7000, args);
	assert_int_equal(told.allocs, 1);
	assert_int_equal(told.frees, 0);
	hooks.expand(hooks.extra, 0, (void *)0x7000, CERTAIN, 3 * CERTAIN, 0x7000, args);
	assert_int_equal(told.freed, 0x7000);
	assert_int_equal(told.frees, 1);
	assert_int_equal(told.allocs, 2);
	assert_int_equal(told.size, 3 * CERTAIN);
	release(0x7000);
	assert_int_equal(told.frees, 2);
}

static void fail_once(uint64_t size)
{
	uint64_t before = told.allocs;

	draw_the_same();
	allocate(0, size);
	assert_int_equal(told.allocs, before);
	allocate(0x7000, CERTAIN);
	assert_int_equal(told.allocs, before + 1);
	release(0x7000);
}

/* A failed allocation of any size does not affect the sampling of later ones. */
static void test_failed_allocation(void **unused)
{
	(void)unused;
	begin(RATE);
	for (int shift = 0; shift < 64; shift++) {
		fail_once(UINT64_C(1) << shift);
		fail_once((UINT64_C(1) << shift) + 5);
		fail_once(-(UINT64_C(1) << shift));
	}
	/* posix_memalign() reports failure by its result, and leaves the address as it was. */
	draw_the_same();
	hooks.alloc(hooks.extra, POSIX_MEMALIGN, (void *)0x9000, ENOMEM,
		    (const uint64_t[3]){ 0, 64, UINT64_C(1) << 63 });
	for (int i = 0; i < SAMPLER_THREADS; i++)
		assert_int_equal(data->threads[i].left, RATE / 2);
	allocate(0x8000, 0);
	release(0x8000);
	release(0);
	assert_int_equal(told.frees, told.allocs);
}

/* --- kept objects --- */

static uint64_t in_set(uint64_t address)
{
	return (address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

static void test_set_is_full(void **unused)
{
	uint64_t address[SAMPLER_WAYS + 2], at = 0;

	(void)unused;
	begin(RATE);
	for (int i = 0; i < SAMPLER_WAYS + 2; i++) {
		do
			at += 16;
		while (in_set(at) % SAMPLER_SETS != 5);
		address[i] = at;
		allocate(at, CERTAIN);
	}
	assert_int_equal(told.allocs, SAMPLER_WAYS);
	assert_int_equal(data->dropped, 2);
	assert_int_equal(data->counts[5], SAMPLER_WAYS);
	release(address[SAMPLER_WAYS]); /* it was not kept */
	assert_int_equal(told.frees, 0);
	for (int i = 0; i < SAMPLER_WAYS; i++) {
		release(address[i]);
		assert_int_equal(told.freed, address[i]);
		release(address[i]); /* only reported once */
		assert_int_equal(told.frees, i + 1);
	}
	assert_int_equal(data->counts[5], 0);
	allocate(address[9], CERTAIN); /* there is room for it now */
	assert_int_equal(told.allocs, SAMPLER_WAYS + 1);
}

/* Threads exchange objects: each thread frees the object it finds, and leaves its own. */
#define PLACES 4096
static uint64_t places[PLACES];

static void *pass_on(void *arg)
{
	uint64_t seed = (uint64_t)arg * SEED, address, old;

	for (uint64_t i = 1; i <= 20000; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		address = (uint64_t)arg << 40 | i << 4;
		allocate(address, RATE * UINT64_C(2));
		old = __atomic_exchange_n(&places[(seed >> 20) % PLACES], address,
					  __ATOMIC_ACQ_REL);
		if (old)
			release(old);
	}
	return NULL;
}

static void test_no_free_is_missed(void **unused)
{
	(void)unused;
	begin(RATE);
	run_threads(pass_on, 4);
	assert_true(told.allocs > 50000);
	assert_true(told.frees > told.allocs - PLACES);
	for (int i = 0; i < PLACES; i++)
		if (places[i])
			release(places[i]);
	memset(places, 0, sizeof(places));
	assert_int_equal(told.frees, told.allocs);
	for (int i = 0; i < SAMPLER_SETS; i++) {
		assert_int_equal(data->counts[i], 0);
		for (int k = 0; k < SAMPLER_WAYS; k++)
			assert_int_equal(data->objects[i][k], 0);
	}
}

/* Control: without the frees, all objects count as live. */
static void test_frees_matter(void **unused)
{
	uint64_t kept = 0;

	(void)unused;
	begin(RATE);
	for (uint64_t i = 1; i <= 1000; i++)
		allocate(i << 4, CERTAIN);
	for (int i = 0; i < SAMPLER_SETS; i++)
		kept += data->counts[i];
	assert_int_equal(kept, 1000);
	assert_int_equal(told.frees, 0);
}
/* --- data that is cleared while a thread uses it --- */

static void call_all(void)
{
	const uint64_t args[3] = { 0x7000, 3 * CERTAIN };

	allocate(0x7000, RATE);
	hooks.expand(hooks.extra, 0, (void *)0x7000, RATE, 2 * RATE, 0x7000, args);
	release(0x7000);
	assert_true(ctl.removes <= 1);
}

static void begin_at_once(void)
{
	begin(RATE);
	for (int i = 0; i < SAMPLER_THREADS; i++)
		data->threads[i].left = 0;
}

static void test_data_goes_at_any_instruction(void **unused)
{
	(void)unused;
	wipe_at_each(set_up, begin_at_once, call_all);
}

#define with_block(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_block(test_comes_and_leaves),
		with_block(test_thread_ends),
		with_block(test_none_is_marked_at_its_end),
		with_block(test_end_waits),
		with_block(test_guards_what_it_knows),
		with_block(test_refuses),
		with_block(test_mallctl_fails),
		with_block(test_never_leaves_while_it_moves),
		with_block(test_leaves_where_its_data_is_gone),
		with_block(test_another_runs),
		with_block(test_comes_clean),
		with_block(test_one_semaphore_is_enough),
		with_block(test_leaves_once),
		with_block(test_probability_and_weight),
		with_block(test_sum),
		with_block(test_extreme_rates),
		with_block(test_first_of_a_thread),
		with_block(test_sizes_of_each_function),
		with_block(test_expanded_in_place),
		with_block(test_failed_allocation),
		with_block(test_set_is_full),
		with_block(test_no_free_is_missed),
		with_block(test_frees_matter),
		with_block(test_data_goes_at_any_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
