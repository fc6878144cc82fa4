// SPDX-License-Identifier: Apache-2.0
#include "base/backoff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_doubles(void **state)
{
	static const uint64_t after[] = { 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000 };
	struct backoff b = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(after) / sizeof(*after); i++) {
		backoff_fail(&b, 100, 5000, 7000);
		assert_int_equal(b.at_ms, 7000 + after[i]);
		assert_int_equal(b.failures, i + 1);
	}
}

static void test_limit(void **state)
{
	struct backoff b = { 0 };

	(void)state;
	for (int i = 0; i < 200; i++)
		backoff_fail(&b, BACKOFF_MIN_MS, BACKOFF_MAX_MS, 1);
	assert_int_equal(b.at_ms, 1 + BACKOFF_MAX_MS);
	backoff_fail(&b, 9, 3, 1);
	assert_int_equal(b.at_ms, 1 + 3);
}

static void test_reset(void **state)
{
	struct backoff b = { 0 };

	(void)state;
	for (int i = 0; i < 5; i++)
		backoff_fail(&b, 100, 5000, 0);
	backoff_reset(&b);
	assert_int_equal(b.failures, 0);
	backoff_fail(&b, 100, 5000, 50);
	assert_int_equal(b.at_ms, 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
