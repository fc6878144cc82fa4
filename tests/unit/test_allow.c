// SPDX-License-Identifier: Apache-2.0
#include "sandbox/allow.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A filter that libseccomp rejects must not be mistaken for a kernel without seccomp. */
static void test_no_filter(void **state)
{
	static const int no_call[] = { __NR_SCMP_ERROR };
	static const struct allow_rule no_rule[] = { { __NR_SCMP_ERROR, 0, { { 0 } } } };
	const struct allow_list lists[] = { { .calls = no_call, .n_calls = 1 },
					    { .rules = no_rule, .n_rules = 1 } };

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		struct err err = ERR_INIT;

		assert_int_equal(allow_only(&lists[i], 1, &err), -1);
		assert_int_equal(err.code, ERR_FAILED);
		assert_int_equal(err.sys, EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
