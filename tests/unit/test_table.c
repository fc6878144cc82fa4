// SPDX-License-Identifier: Apache-2.0
#include "ops/stacks/table.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t find(struct stack_table *t, const uint64_t *addrs, size_t depth)
{
	struct err err = ERR_INIT;
	uint32_t number;

	assert_int_equal(stack_table_find(t, addrs, depth, &number, &err), 0);
	return number;
}

static void expect(const struct stack_table *t, uint32_t number, const char *wanted)
{
	_cleanup_(cleanup_free) char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	stack_table_print(t, number, f);
	fclose(f);
	assert_string_equal(text, wanted);
}

/* Stacks that contain one another, or have the same calls in another order, are distinct. */
static void test_stacks_are_told_apart(void **state)
{
	const uint64_t a[] = { 0x1000, 0x2000, 0x3000 }, b[] = { 0x2000, 0x1000, 0x3000 };
	struct stack_table t = { 0 };

	(void)state;
	assert_int_equal(find(&t, a, 3), 0);
	assert_int_equal(find(&t, a, 2), 1);
	assert_int_equal(find(&t, a + 1, 2), 2);
	assert_int_equal(find(&t, b, 3), 3);
	assert_int_equal(find(&t, b, 2), 4);
	assert_int_equal(find(&t, a, 1), 5);
	assert_int_equal(find(&t, a, 3), 0);
	assert_int_equal(find(&t, b + 1, 1), 5); /* compared by value */
	assert_int_equal(t.n, 6);
	expect(&t, 0, "@ 0x1000 0x2000 0x3000\n");
	expect(&t, 2, "@ 0x2000 0x3000\n");
	expect(&t, 5, "@ 0x1000\n");
	stack_table_fini(&t);
	assert_int_equal(t.n, 0);
	assert_int_equal(find(&t, b, 3), 0); /* it is empty again */
	stack_table_fini(&t);
}

static void test_numbers_stay(void **state)
{
	struct stack_table t = { 0 };

	(void)state;
	for (int round = 0; round < 3; round++)
		for (uint64_t i = 0; i < 30000; i++)
			assert_int_equal(find(&t, (uint64_t[]){ i, i * 2, ~i }, 1 + i % 3), i);
	assert_int_equal(t.n, 30000);
	assert_int_equal(t.shortened, 0);
	stack_table_fini(&t);
}

static void test_too_many_stacks(void **state)
{
	uint64_t addrs[] = { 0, 0x2000 };
	struct stack_table t = { 0 };

	(void)state;
	for (; addrs[0] < STACKS_MAX; addrs[0]++)
		assert_int_equal(find(&t, addrs, 2), addrs[0]);
	assert_int_equal(find(&t, addrs, 2), STACKS_MAX);
	expect(&t, STACKS_MAX, "@ 0x100000\n");
	addrs[1] = 0x3000;
	assert_int_equal(find(&t, addrs, 2), STACKS_MAX); /* no longer told apart */
	assert_int_equal(t.shortened, 2);
	addrs[0] = 7;
	addrs[1] = 0x2000;
	assert_int_equal(find(&t, addrs, 2), 7); /* already known */
	assert_int_equal(t.shortened, 2);
	stack_table_fini(&t);
}

/* Few stacks, but deep ones. */
static void test_too_many_addresses(void **state)
{
	const size_t depth = 4096, fit = STACK_ADDRS_MAX / depth;
	_cleanup_(cleanup_free) uint64_t *addrs = calloc(depth, sizeof(*addrs));
	struct stack_table t = { 0 };
	uint32_t number;

	(void)state;
	assert_non_null(addrs);
	for (; addrs[0] < fit; addrs[0]++)
		assert_int_equal(find(&t, addrs, depth), addrs[0]);
	assert_int_equal(t.shortened, 0);
	number = find(&t, addrs, depth);
	assert_int_equal(t.v[number].depth, 1);
	assert_int_equal(t.shortened, 1);
	assert_true(t.n_addrs <= STACK_ADDRS_MAX + 1);
	stack_table_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks_are_told_apart),
		cmocka_unit_test(test_numbers_stay),
		cmocka_unit_test(test_too_many_stacks),
		cmocka_unit_test(test_too_many_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
