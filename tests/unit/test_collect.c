// SPDX-License-Identifier: Apache-2.0
/* The profile that `sample` writes, read as jeprof reads it. */
#include "ops/sample/collect.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/pack.h"
#include "sampler/layout.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RATE UINT64_C(524288)
#define BASE UINT64_C(0x7f0000000000)
#define SITES 4
#define S UINT64_C(1000000000)
enum { ASK_BEGIN, ASK_COUNTS, ASK_LIVE };

static void *state;
static struct heap_object *object; /* about 16 KiB */

static int set_up(void **unused)
{
	(void)unused;
	state = calloc(1, sample_collector_kind.state_size);
	object = calloc(1, sizeof(*object));
	return state && object ? 0 : -1;
}

static int tear_down(void **unused)
{
	(void)unused;
	sample_collector_kind.fini(state);
	free(state);
	free(object);
	return 0;
}

/* --- requests and samples --- */

static int ask(const uint64_t *words, size_t n)
{
	struct unpack u = { (const unsigned char *)words, (const unsigned char *)(words + n),
			    false };
	_cleanup_(pack_fini) struct pack answer = { 0 };
	struct err err = ERR_INIT;

	return sample_collector_kind.answer(state, NULL, &u, &answer, &err);
}

static void begin(void)
{
	assert_int_equal(ask((const uint64_t[]){ ASK_BEGIN, BASE }, 2), 0);
}

static void lives(uint64_t id)
{
	assert_int_equal(ask((const uint64_t[]){ ASK_LIVE, 1, id }, 3), 0);
}

static void add_stack(const uint64_t *addrs, size_t depth)
{
	struct err err = ERR_INIT;

	assert_ptr_equal(sample_collector_kind.stack(object), &object->stack);
	assert_int_equal(sample_collector_kind.add(state, object, addrs, depth, &err), 0);
}

/* Weights as computed by the block. */
static void add(uint64_t id, uint64_t size, uint64_t site, uint64_t time_ns)
{
	object->id = id;
	object->size = size;
	object->bytes = (uint64_t)((double)size / -expm1(-(double)size / (double)RATE));
	object->time_ns = time_ns;
	add_stack((const uint64_t[]){ 0x1000 + site, 0x2000 }, 2);
}

/* --- the profile --- */

struct line {
	unsigned long live_n, live_bytes, n, bytes;
};

static char *write_profile(const struct sample_write *how, struct sampled *got)
{
	_cleanup_(pack_fini) struct pack totals = { 0 }, answer = { 0 };
	struct err err = ERR_INIT;
	char *text = NULL;
	struct unpack u;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	pack_bytes(&totals, how, sizeof(*how));
	u = (struct unpack){ totals.v, totals.v + totals.len, false };
	assert_int_equal(sample_collector_kind.write(state, &u, f, &answer, &err), 0);
	fclose(f);
	u = (struct unpack){ answer.v, answer.v + answer.len, false };
	unpack_bytes(&u, got, sizeof(*got));
	assert_true(unpack_done(&u));
	return text;
}

/* The counts of the stack whose text begins with `stack`; "" gives the total. */
static struct line find_line(const char *profile, const char *stack)
{
	const char *at = strstr(profile, stack);
	struct line l;

	assert_non_null(at);
	at = strstr(at, "t*:");
	assert_non_null(at);
	assert_int_equal(
		sscanf(at, "t*: %lu: %lu [%lu: %lu]", &l.live_n, &l.live_bytes, &l.n, &l.bytes), 4);
	return l;
}

/* AdjustSamples() of jeprof, for heap_v2. */
static double scale(unsigned long n, unsigned long bytes)
{
	return n ? (double)bytes / -expm1(-((double)bytes / (double)n) / (double)RATE) : 0;
}

static void is_within(double got, double wanted, double part)
{
	if (fabs(got - wanted) > wanted * part)
		fail_msg("%f, not %f", got, wanted);
}

static void test_usable_size(void **unused)
{
	/* "bin" and "large" as printed by malloc_stats_print(3) of 5.2.1, 5.3.0 and 5.3.1 */
	static const uint64_t classes[] = {
		8,	 16,	  32,	   48,	    64,	     80,      96,      112,	128,
		160,	 192,	  224,	   256,	    320,     384,     448,     512,	640,
		768,	 896,	  1024,	   1280,    1536,    1792,    2048,    2560,	3072,
		3584,	 4096,	  5120,	   6144,    7168,    8192,    10240,   12288,	14336,
		16384,	 20480,	  24576,   28672,   32768,   40960,   49152,   57344,	65536,
		81920,	 98304,	  114688,  131072,  163840,  196608,  229376,  262144,	327680,
		393216,	 458752,  524288,  655360,  786432,  917504,  1048576, 1310720, 1572864,
		1835008, 2097152, 2621440, 3145728, 3670016, 4194304,
	};
	uint64_t before = 0;

	(void)unused;
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		assert_int_equal(sample_usable_size(before + 1), classes[i]);
		assert_int_equal(sample_usable_size(classes[i] - 1), classes[i]);
		assert_int_equal(sample_usable_size(classes[i]), classes[i]);
		before = classes[i];
	}
	assert_int_equal(sample_usable_size(UINT64_C(1) << 46), UINT64_C(1) << 46);
	assert_int_equal(sample_usable_size((UINT64_C(1) << 46) + 1), UINT64_C(5) << 44);
}

/* Samples with impossible values are rejected. */
static void test_nonsense(void **unused)
{
	const struct heap_object good = { .id = 1, .size = 100, .bytes = 1000 };

	(void)unused;
	*object = good;
	assert_non_null(sample_collector_kind.stack(object));
	object->size = 0;
	assert_null(sample_collector_kind.stack(object));
	*object = good;
	object->bytes = 99;
	assert_null(sample_collector_kind.stack(object));
	*object = good;
	object->size = object->bytes = UINT64_C(1) << 47;
	assert_null(sample_collector_kind.stack(object));
	assert_int_equal(ask((const uint64_t[]){ ASK_LIVE, 1000, 1 }, 3), 0);
}

/* Sites with objects much smaller than the rate, about as large, and larger. Half of them live. */
static void test_counts_give_weights_back(void **unused)
{
	static const uint64_t sizes[SITES] = { 100, 50000, RATE, 40 * RATE };
	const struct sample_write how = { .sample_bytes = RATE, .end_ns = 10 * S };
	_cleanup_(cleanup_free) char *profile = NULL;
	double bytes[SITES], all = 0;
	struct sampled got;

	(void)unused;
	begin();
	for (uint64_t id = 1; id <= 4000; id++) {
		add(id, sizes[id % SITES], id % SITES << 8, S);
		if (id % 8 < 4)
			lives(id);
		bytes[id % SITES] = 1000 * (double)object->bytes / (double)object->size *
				    (double)sample_usable_size(object->size);
	}
	profile = write_profile(&how, &got);
	assert_int_equal(strncmp(profile, "heap_v2/524288\n", 15), 0);
	for (int i = 0; i < SITES; i++) {
		char stack[32];
		struct line l;

		snprintf(stack, sizeof(stack), "@ 0x%x 0x2000\n", 0x1000 + (i << 8));
		l = find_line(profile, stack);
		is_within(scale(l.n, l.bytes), bytes[i], 0.002);
		is_within(scale(l.live_n, l.live_bytes), bytes[i] / 2, 0.002);
		all += bytes[i];
	}
	assert_int_equal(got.samples, 4000);
	assert_int_equal(got.live_samples, 2000);
	assert_int_equal(got.stacks, SITES);
	is_within((double)got.allocated_bytes, all, 0.0001);
	is_within((double)got.live_bytes, all / 2, 0.0001);
}

/*
 * A 33-byte object takes 48 bytes, so on average its sample counts as 1.45, over stacks with one
 * sample each.
 */
static void test_single_samples(void **unused)
{
	const struct sample_write how = { .sample_bytes = RATE, .end_ns = 10 * S };
	_cleanup_(cleanup_free) char *profile = NULL;
	struct sampled got;
	struct line l;

	(void)unused;
	begin();
	for (uint64_t id = 1; id <= 1000; id++) {
		add(id, 33, id << 4, S);
		lives(id);
	}
	profile = write_profile(&how, &got);
	l = find_line(profile, "");
	is_within(scale(l.n, l.bytes), (double)got.allocated_bytes, 0.01);
	is_within(scale(l.live_n, l.live_bytes), (double)got.live_bytes, 0.01);
}

/* One site with many sizes: a profile can only express their mean, and its total is correct. */
static void test_sizes_of_all_kinds(void **unused)
{
	const struct sample_write how = { .sample_bytes = RATE, .end_ns = 10 * S };
	_cleanup_(cleanup_free) char *profile = NULL;
	struct sampled got;
	double bytes = 0;
	struct line l;

	(void)unused;
	begin();
	for (uint64_t id = 1; id <= 3000; id++) {
		add(id, UINT64_C(16) << id % 20, 0, S);
		bytes += (double)object->bytes;
	}
	profile = write_profile(&how, &got);
	l = find_line(profile, "@ 0x1000 0x2000\n");
	is_within(scale(l.n, l.bytes), bytes, 0.002);
	assert_int_equal(l.live_n, 0);
	assert_int_equal(l.live_bytes, 0);
	assert_int_equal(find_line(profile, "").n, l.n);
	assert_int_equal(find_line(profile, "").bytes, l.bytes);
}

static void test_ages(void **unused)
{
	const struct sample_write all = { .sample_bytes = RATE, .end_ns = 10 * S, .old_ns = 5 * S };
	struct sample_write old = all;
	_cleanup_(cleanup_free) char *profile = NULL, *aged = NULL;
	struct sampled got;

	(void)unused;
	begin();
	for (uint64_t id = 1; id <= 9; id++) {
		add(id, 40 * RATE, 0, id * S);
		lives(id);
	}
	add(10, 40 * RATE, 0, 11 * S); /* after the end: counts as new */
	lives(10);
	lives(11); /* no such sample */
	lives(0);
	profile = write_profile(&all, &got);
	assert_int_equal(got.live_samples, 10);
	assert_int_equal(got.old_samples, 5);
	assert_int_equal(find_line(profile, "@ 0x1000").live_n, 10);
	tear_down(NULL);
	set_up(NULL);
	begin();
	for (uint64_t id = 1; id <= 9; id++) {
		add(id, 40 * RATE, 0, id * S);
		lives(id);
	}
	old.min_age_ns = 8 * S;
	aged = write_profile(&old, &got);
	assert_int_equal(got.live_samples, 9);
	assert_int_equal(find_line(aged, "@ 0x1000").live_n, 2);
	assert_int_equal(find_line(aged, "@ 0x1000").n, 9);
}

/* Innermost frames in the block itself are dropped. */
static void test_own_frames(void **unused)
{
	const struct sample_write how = { .sample_bytes = RATE };
	const uint64_t addrs[] = { BASE + 0x180, BASE + SAMPLER_STATE - 1, 0x5000, BASE + 0x200 };
	_cleanup_(cleanup_free) char *profile = NULL;
	struct sampled got;

	(void)unused;
	begin();
	*object = (struct heap_object){ .id = 1, .size = 8, .bytes = RATE };
	add_stack(addrs, 4);
	add_stack(addrs, 2);
	add_stack((const uint64_t[]){ BASE + SAMPLER_STATE, 0x5000 }, 2);
	profile = write_profile(&how, &got);
	find_line(profile, "@ 0x5000 0x7f0000000200\n");
	find_line(profile, "@ 0x7f0000005fff\n"); /* the last one is kept */
	find_line(profile, "@ 0x7f0000006000 0x5000\n");
	assert_int_equal(got.stacks, 3);
}

static void test_nothing(void **unused)
{
	const struct sample_write how = { .sample_bytes = 4096 };
	_cleanup_(cleanup_free) char *profile = NULL;
	struct sampled got;

	(void)unused;
	begin();
	profile = write_profile(&how, &got);
	assert_string_equal(profile, "heap_v2/4096\n  t*: 0: 0 [0: 0]\n");
	assert_int_equal(got.samples, 0);
}

/* Without a block, the rate is derived from the samples, and sizes are as requested. */
static void test_emitter(void **unused)
{
	static const uint64_t sizes[] = { UINT64_C(64) << 20, UINT64_C(4) << 20, 1000, 33 };
	const struct sample_write how = { .end_ns = S };
	_cleanup_(cleanup_free) char *profile = NULL;
	struct sampled got;
	struct line l;

	(void)unused;
	for (uint64_t i = 0; i < 4; i++)
		add(i + 1, sizes[i], i, 0);
	lives(4);
	profile = write_profile(&how, &got);
	assert_string_equal(strtok(profile, "\n"), "heap_v2/524287"); /* weights are rounded down */
	l = find_line(profile + strlen(profile) + 1, "@ 0x1003");
	assert_int_equal(l.n, 1);
	assert_int_equal(l.bytes, 33);
	assert_int_equal(got.live_bytes, 524304); /* rate + size / 2 */
}

/* All objects are larger than their rate, so each sample counts once. */
static void test_emitter_of_large_ones(void **unused)
{
	const struct sample_write how = { .end_ns = S };
	_cleanup_(cleanup_free) char *profile = NULL;
	struct sampled got;

	(void)unused;
	add(1, UINT64_C(64) << 20, 0, 0);
	add(2, UINT64_C(64) << 20, 0, 0);
	profile = write_profile(&how, &got);
	assert_string_equal(profile, "heap_v2/1\n  t*: 0: 0 [2: 134217728]\n"
				     "@ 0x1000 0x2000\n  t*: 0: 0 [2: 134217728]\n");
}

#define with_state(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usable_size),
		with_state(test_nonsense),
		with_state(test_counts_give_weights_back),
		with_state(test_single_samples),
		with_state(test_sizes_of_all_kinds),
		with_state(test_ages),
		with_state(test_own_frames),
		with_state(test_nothing),
		with_state(test_emitter),
		with_state(test_emitter_of_large_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
