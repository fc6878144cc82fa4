// SPDX-License-Identifier: Apache-2.0
#include "cli/growth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MB (1u << 20)

/* Growth from 0 to `after` in one function. */
static const char *counted(double after, bool significant, double before_bytes, double after_bytes)
{
	static char text[GROWTH_COUNTED_SIZE];
	struct profile_change change = { .after = after, .significant = significant };
	const struct ops_diff diff = {
		.functions = { .v = &change, .n = 1, .n_significant = significant },
		.after = after,
		.coverage_before = { .allocated = before_bytes },
		.coverage = { .allocated = after_bytes },
	};

	return growth_counted(&diff, text, sizeof(text));
}

static void test_counted(void **state)
{
	const char *text = counted(11.6 * MB, false, 286 * MB, 298 * MB);

	(void)state;
	assert_non_null(text);
	assert_non_null(strstr(text, "12.0M more allocated"));
	/* No text if the growth is significant, if memory did not grow, or if that is unknown. */
	assert_null(counted(11.6 * MB, true, 286 * MB, 298 * MB));
	assert_null(counted(11.6 * MB, false, 298 * MB, 286 * MB));
	assert_null(counted(11.6 * MB, false, 0, 298 * MB));
	assert_null(counted(11.6 * MB, false, 286 * MB, 0));
	assert_null(counted(-11.6 * MB, false, 286 * MB, 298 * MB));
	/* A significant decrease says nothing about growth. */
	assert_null(counted(-11.6 * MB, true, 286 * MB, 298 * MB));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
