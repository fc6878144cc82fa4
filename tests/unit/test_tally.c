// SPDX-License-Identifier: Apache-2.0
#include "ops/stacks/tally.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void add(struct stack_tally *t, const uint64_t *addrs, size_t depth, unsigned int kind,
		uint64_t bytes)
{
	struct err err;

	assert_int_equal(stack_tally_add(t, addrs, depth, kind, bytes, &err), 0);
}

static void expect(const struct stack_tally *t, const uint64_t totals[STACK_KINDS],
		   const char *wanted)
{
	_cleanup_(cleanup_free) char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	stack_tally_write(t, totals, f);
	fclose(f);
	assert_string_equal(text, wanted);
}

static void test_nothing(void **state)
{
	struct stack_tally t = { 0 };

	(void)state;
	expect(&t, (uint64_t[]){ 0, 0 }, "heap_v2/1\n  t*: 0: 0 [0: 0]\n");
	stack_tally_fini(&t);
}

/* A different number of the same addresses is a different stack. */
static void test_stacks_are_told_apart(void **state)
{
	const uint64_t addrs[] = { 0x1000, 0x2000, 0x3000 };
	struct stack_tally t = { 0 };

	(void)state;
	add(&t, addrs, 3, 0, 100);
	add(&t, addrs, 2, 0, 200);
	add(&t, addrs + 1, 2, 0, 300);
	add(&t, addrs, 3, 0, 100);
	assert_int_equal(t.stacks.n, 3);
	assert_int_equal(t.samples, 4);
	expect(&t, (uint64_t[]){ 700, 0 },
	       "heap_v2/1\n  t*: 0: 0 [4: 700]\n"
	       "@ 0x1000 0x2000 0x3000\n  t*: 0: 0 [2: 200]\n"
	       "@ 0x1000 0x2000\n  t*: 0: 0 [1: 200]\n"
	       "@ 0x2000 0x3000\n  t*: 0: 0 [1: 300]\n");
	stack_tally_fini(&t);
}

/* Each kind is scaled to its own total. */
static void test_kinds_are_scaled_apart(void **state)
{
	const uint64_t a = 0xa, b = 0xb;
	struct stack_tally t = { 0 };

	(void)state;
	add(&t, &a, 1, 0, 100);
	add(&t, &b, 1, 0, 300);
	add(&t, &b, 1, 1, 50);
	expect(&t, (uint64_t[]){ 800, 25 },
	       "heap_v2/1\n  t*: 0: 0 [3: 825]\n"
	       "@ 0xa\n  t*: 0: 0 [1: 200]\n"
	       "@ 0xb\n  t*: 0: 0 [2: 625]\n");
	stack_tally_fini(&t);
}

/* The total of a kind without samples is distributed among the other kinds. */
static void test_kind_without_samples(void **state)
{
	const uint64_t a = 0xa, b = 0xb;
	struct stack_tally t = { 0 };

	(void)state;
	add(&t, &a, 1, 1, 100);
	add(&t, &b, 1, 1, 300);
	expect(&t, (uint64_t[]){ 1000, 4000 },
	       "heap_v2/1\n  t*: 0: 0 [2: 5000]\n"
	       "@ 0xa\n  t*: 0: 0 [1: 1250]\n"
	       "@ 0xb\n  t*: 0: 0 [1: 3750]\n");
	expect(&t, (uint64_t[]){ 1000, 0 },
	       "heap_v2/1\n  t*: 0: 0 [2: 0]\n"
	       "@ 0xa\n  t*: 0: 0 [1: 0]\n"
	       "@ 0xb\n  t*: 0: 0 [1: 0]\n");
	stack_tally_fini(&t);
}

static void test_many(void **state)
{
	struct stack_tally t = { 0 };

	(void)state;
	for (int round = 0; round < 3; round++)
		for (uint64_t i = 0; i < 20000; i++)
			add(&t, (uint64_t[]){ i, i * 2, i * 3 }, 1 + i % 3, 0, i);
	assert_int_equal(t.stacks.n, 20000);
	for (size_t i = 0; i < t.stacks.n; i++) {
		const struct stack *s = &t.stacks.v[i];

		assert_int_equal(t.v[i].samples, 3);
		assert_int_equal(t.v[i].bytes[0], 3 * i);
		assert_int_equal(s->depth, 1 + i % 3);
		assert_int_equal(t.stacks.addrs[s->first], i);
	}
	stack_tally_fini(&t);
}

/* The target may be hostile, so stacks are limited: further ones only keep their innermost call. */
static void test_too_many(void **state)
{
	struct stack_tally t = { 0 };
	uint64_t addrs[] = { 0, 0x2000, 0x3000 };

	(void)state;
	for (uint64_t i = 0; i < STACKS_MAX; i++) {
		addrs[0] = i;
		add(&t, addrs, 3, 0, 1);
	}
	assert_int_equal(t.stacks.n, STACKS_MAX);
	assert_int_equal(t.stacks.shortened, 0);
	addrs[1] = 0x4000;
	for (int i = 0; i < 5; i++) {
		addrs[2] = (uint64_t)i;
		add(&t, addrs, 3, 0, 100);
	}
	assert_int_equal(t.stacks.n, STACKS_MAX + 1);
	assert_int_equal(t.stacks.shortened, 5);
	assert_int_equal(t.stacks.v[STACKS_MAX].depth, 1);
	assert_int_equal(t.v[STACKS_MAX].bytes[0], 500);
	/* Known stacks are still recorded in full. */
	addrs[1] = 0x2000;
	addrs[2] = 0x3000;
	add(&t, addrs, 3, 0, 1);
	assert_int_equal(t.v[STACKS_MAX - 1].samples, 2);
	assert_int_equal(t.bytes[0], STACKS_MAX + 501);
	stack_tally_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_stacks_are_told_apart),
		cmocka_unit_test(test_kinds_are_scaled_apart),
		cmocka_unit_test(test_kind_without_samples),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
