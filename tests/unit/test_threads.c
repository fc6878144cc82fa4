// SPDX-License-Identifier: Apache-2.0
#include "ops/ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND 1000000

static struct ops_thread thread(pid_t tid, bool has_bytes, uint64_t allocated, uint64_t read_us)
{
	return (struct ops_thread){
		.tid = tid, .has_bytes = has_bytes, .allocated = allocated, .read_us = read_us
	};
}

static void test_rate(void **state)
{
	struct ops_thread v1[] = {
		thread(1, true, 100, SECOND),
		thread(2, false, 0, 0),
		thread(3, true, 500, SECOND),
		thread(4, true, 100, SECOND),
	};
	struct ops_thread v2[] = {
		thread(1, true, 300, 3 * SECOND), thread(2, true, 900, 3 * SECOND),
		thread(3, true, 499, 3 * SECOND), thread(4, false, 0, 0),
		thread(5, true, 10, 3 * SECOND),
	};
	struct ops_threads before = { .v = v1, .n = 4, .cost = { .stops = 5, .pause_us = 50 } };
	struct ops_threads now = { .v = v2, .n = 5, .cost = { .stops = 6, .pause_us = 7 } };

	(void)state;
	ops_threads_rate(&now, &before);
	assert_int_equal(v2[0].tid, 1);
	assert_true(v2[0].has_rate && v2[0].allocated_rate == 100);
	for (size_t i = 1; i < 5; i++) {
		assert_int_equal(v2[i].tid, i + 1);
		assert_false(v2[i].has_rate);
	}
	/* Not read before; another thread with the same id; not read now; did not exist before. */
	assert_false(v2[1].is_new);
	assert_true(v2[2].is_new);
	assert_false(v2[3].is_new);
	assert_true(v2[4].is_new);
	/* The costs of both readings are added. */
	assert_int_equal(now.cost.stops, 11);
	assert_int_equal(now.cost.pause_us, 57);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
