// SPDX-License-Identifier: Apache-2.0
#include "front/outcome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_codes(void **state)
{
	static const unsigned int statuses[ERR_CODES] = { 200, 500, 400, 404, 403, 404,
							  501, 409, 503, 502, 507 };

	(void)state;
	for (uint32_t code = 0; code < ERR_CODES; code++) {
		struct outcome o = outcome_of(&(struct wire_to_front){ .code = code });

		assert_int_equal(o.status, statuses[code]);
		assert_int_equal(o.again, o.status == 409 || o.status == 503);
		assert_non_null(o.text);
	}
	assert_int_equal(outcome_of(&(struct wire_to_front){ .code = ERR_CODES }).status, 500);
	assert_int_equal(outcome_of(&(struct wire_to_front){ .code = UINT32_MAX }).status, 500);
}

static void test_refusals(void **state)
{
	static const unsigned int statuses[WIRE_REFUSALS] = { 200, 401, 403, 503, 404, 409 };

	(void)state;
	for (uint32_t r = 0; r < WIRE_REFUSALS; r++)
		assert_int_equal(outcome_of(&(struct wire_to_front){ .refusal = r }).status,
				 statuses[r]);
	assert_int_equal(outcome_of(&(struct wire_to_front){ .refusal = 77 }).status, 503);
	assert_int_equal(outcome_of(&(struct wire_to_front){ .reason = WIRE_INACTIVE }).status,
			 403);
	assert_int_equal(outcome_of(&(struct wire_to_front){ .reason = WIRE_OTHER_PROGRAM }).status,
			 400);
	assert_true(outcome_of(&(struct wire_to_front){ .refusal = WIRE_FULL }).again);
}

static void test_names(void **state)
{
	static const char *const bad[] = { "", ".x", "a\"", "a/b", "a b", "a\n", "a;", "\xc3\xa4" };
	char name[WIRE_NAME_SIZE] = "redis-server.42_a.heap";

	(void)state;
	assert_true(outcome_name_is_safe(name));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		strcpy(name, bad[i]);
		assert_false(outcome_name_is_safe(name));
	}
	memset(name, 'a', sizeof(name));
	assert_false(outcome_name_is_safe(name));
	name[sizeof(name) - 1] = '\0';
	assert_true(outcome_name_is_safe(name));
}

static void test_errors(void **state)
{
	(void)state;
	assert_string_equal(outcome_code(404), "usage");
	assert_string_equal(outcome_code(403), "permission");
	assert_string_equal(outcome_code(500), "failed");
	assert_string_equal(outcome_id(421), "host_not_known");
	assert_string_equal(outcome_id(999), "request_failed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
