// SPDX-License-Identifier: Apache-2.0
/* The code that is mapped into targets: its hooks for jemalloc's own samples. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/block.h"

/* prof_sample_hook_t and prof_sample_free_hook_t in jemalloc 5.3.1. */
static struct {
	void (*alloc)(const void *, size_t, void **, unsigned int, size_t);
	void (*free)(const void *, size_t);
} hooks;
static bool no_alloc_hook; /* setting it fails */

/* --- replacement for jemalloc --- */

static void sampled(uint64_t address, uint64_t size)
{
	hooks.alloc((void *)address, 1, NULL, 0, size);
}

static void sampled_free(uint64_t address)
{
	hooks.free((void *)address, RATE);
}

static int fake_mallctl(const char *name, void *old, size_t *old_len, void *new, size_t new_len)
{
	const bool is_free = !strcmp(name, "experimental.hooks.prof_sample_free");
	void *hook = is_free ? (void *)&hooks.free : (void *)&hooks.alloc;

	if (!is_free)
		assert_string_equal(name, "experimental.hooks.prof_sample");
	if (old) {
		assert_int_equal(*old_len, sizeof(void *));
		memcpy(old, hook, sizeof(void *));
	}
	if (!new)
		return 0;
	if (no_alloc_hook && !is_free)
		return ENOENT;
	assert_int_equal(new_len, sizeof(void *));
	memcpy(hook, new, sizeof(void *));
	return 0;
}

static int install(void)
{
	const struct sampler_order order = { .what = SAMPLER_INSTALL_PROF,
					     .sample_bytes = RATE,
					     .seed = SEED,
					     .mallctl = (uint64_t)fake_mallctl };

	return control(&order, sizeof(order));
}

static void begin(void)
{
	probe(true);
	assert_int_equal(install(), 0);
}

static int set_up(void **unused)
{
	(void)unused;
	memset(&hooks, 0, sizeof(hooks));
	no_alloc_hook = false;
	return map_block();
}

/* --- installation and removal --- */

static void test_comes_and_leaves(void **unused)
{
	(void)unused;
	state->ending = 1; /* irrelevant, since no thread is marked */
	assert_int_equal(install(), ESRCH);
	begin();
	assert_int_equal(install(), EBUSY);
	assert_non_null(hooks.alloc);
	assert_non_null(hooks.free);
	assert_int_equal(leave(), 0);
	assert_null(hooks.alloc);
	assert_null(hooks.free);
	assert_int_equal(leave(), EAGAIN);
	begin();
	probe(false);
	sampled(0x1000, 100); /* it is no longer read */
	assert_null(hooks.alloc);
	assert_null(hooks.free);
	assert_int_equal(state->phase, SAMPLER_OUT);
	assert_int_equal(told.allocs, 0);
}

/* In a child, the data is zeroed. */
static void test_leaves_a_child(void **unused)
{
	(void)unused;
	begin();
	memset(data, 0, sizeof(*data));
	sampled_free(0x1000);
	sampled(0x1000, 100);
	assert_null(hooks.alloc);
	assert_null(hooks.free);
	assert_int_equal(told.allocs + told.frees, 0);
}

static void other_alloc(const void *address, size_t size, void **stack, unsigned int depth,
			size_t usable)
{
	(void)address, (void)size, (void)stack, (void)depth, (void)usable;
}

static void other_free(const void *address, size_t usable)
{
	(void)address, (void)usable;
}

/* The program's own hooks are left in place. */
static void test_hooks_of_others(void **unused)
{
	(void)unused;
	probe(true);
	hooks.free = other_free;
	assert_int_equal(install(), EAGAIN);
	hooks.free = NULL;
	hooks.alloc = other_alloc;
	assert_int_equal(install(), EAGAIN);
	assert_null(hooks.free);
	assert_ptr_equal(hooks.alloc, other_alloc);
	assert_int_equal(state->phase, SAMPLER_OUT);
	hooks.alloc = NULL;
	begin();
	hooks.alloc = other_alloc;
	assert_int_equal(leave(), 0);
	assert_ptr_equal(hooks.alloc, other_alloc);
	assert_null(hooks.free);
	hooks.alloc = NULL;
	begin();
	hooks.free = other_free;
	assert_int_equal(leave(), 0);
	assert_null(hooks.alloc);
	assert_ptr_equal(hooks.free, other_free);
}

static void test_hook_fails(void **unused)
{
	(void)unused;
	probe(true);
	no_alloc_hook = true;
	assert_int_equal(install(), ENOENT);
	assert_null(hooks.free);
	assert_int_equal(state->phase, SAMPLER_OUT);
}

/* --- reports --- */

static void test_objects(void **unused)
{
	(void)unused;
	begin();
	sampled(0x7000, RATE);
	assert_int_equal(told.address, 0x7000);
	assert_int_equal(told.size, RATE);
	assert_true(fabs((double)told.bytes / (RATE / -expm1(-1)) - 1) < 0.001);
	sampled_free(0x8000); /* sampled before the installation */
	assert_int_equal(told.frees, 0);
	sampled_free(0x7000);
	assert_int_equal(told.freed, 0x7000);
	sampled_free(0x7000);
	assert_int_equal(told.frees, 1);
}

/* jemalloc reports the new size first, and then the free of the old one. */
static void test_resized_in_place(void **unused)
{
	(void)unused;
	begin();
	sampled(0x7000, RATE);
	sampled(0x7000, 2 * RATE);
	assert_int_equal(told.allocs, 2);
	assert_int_equal(told.frees, 1);
	assert_int_equal(told.size, 2 * RATE);
	sampled_free(0x7000);
	assert_int_equal(told.frees, 1);
	sampled_free(0x7000);
	assert_int_equal(told.frees, 2);
	sampled_free(0x7000);
	assert_int_equal(told.frees, 2);
	for (int i = 0; i < SAMPLER_SETS; i++)
		assert_int_equal(data->counts[i], 0);
}

/* --- data that is cleared while a thread uses it --- */

static void call_all(void)
{
	void (*const alloc)(const void *, size_t, void **, unsigned int, size_t) = hooks.alloc;
	void (*const free)(const void *, size_t) = hooks.free;

	alloc((void *)0x7000, 1, NULL, 0, RATE);
	alloc((void *)0x7000, 1, NULL, 0, 2 * RATE);
	free((void *)0x7000, RATE);
	free((void *)0x7000, 2 * RATE);
}

static void test_data_goes_at_any_instruction(void **unused)
{
	(void)unused;
	wipe_at_each(set_up, begin, call_all);
}

#define with_block(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_block(test_comes_and_leaves),
		with_block(test_leaves_a_child),
		with_block(test_hooks_of_others),
		with_block(test_hook_fails),
		with_block(test_objects),
		with_block(test_resized_in_place),
		with_block(test_data_goes_at_any_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
