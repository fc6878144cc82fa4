// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_paths(void **state)
{
	_cleanup_(json_close) struct json_object *doc = json_object_new_object();

	(void)state;
	json_set_bool(doc, "prof.active", true);
	json_set_int(doc, "prof.lg_sample", 19);
	json_set_u64(doc, "n", UINT64_MAX);
	json_set_text(doc, "none", NULL);
	assert_string_equal(json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN),
			    "{\"prof\":{\"active\":true,\"lg_sample\":19},"
			    "\"n\":18446744073709551615,\"none\":null}");
}

/* A value is replaced where an object is needed. */
static void test_replaced(void **state)
{
	_cleanup_(json_close) struct json_object *doc = json_object_new_object();

	(void)state;
	json_set_int(doc, "a", 1);
	json_set_int(doc, "a.b", 2);
	json_set_int(doc, "a.b", 3);
	assert_string_equal(json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN),
			    "{\"a\":{\"b\":3}}");
}

static void test_hostile_text(void **state)
{
	_cleanup_(json_close) struct json_object *doc = json_object_new_object();
	struct json_object *value;

	(void)state;
	json_set_text(doc, "name", "a\xff\n\"");
	assert_true(json_object_object_get_ex(doc, "name", &value));
	assert_string_equal(json_object_get_string(value), "a\\xff\\x0a\"");
}

static void test_numbers(void **state)
{
	_cleanup_(json_close) struct json_object *doc = json_object_new_object();

	(void)state;
	json_set_u64(doc, "n", 7);
	json_set_int(doc, "below", -7);
	json_set_text(doc, "text", "x");
	json_set(doc, "null", NULL);
	assert_int_equal(json_get_u64(doc, "n"), 7);
	assert_int_equal(json_get_u64(doc, "below"), 0);
	assert_int_equal(json_get_u64(doc, "text"), 0);
	assert_int_equal(json_get_u64(doc, "null"), 0);
	assert_int_equal(json_get_u64(doc, "none"), 0);
}

static void test_time(void **state)
{
	_cleanup_(json_close) struct json_object *doc = json_object_new_object();
	const struct timespec time = { .tv_sec = 1795665280, .tv_nsec = 12345678 };

	(void)state;
	json_set_time(doc, "ms", &time, 3);
	json_set_time(doc, "us", &time, 6);
	assert_string_equal(json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN),
			    "{\"ms\":\"2026-11-26T03:54:40.012Z\","
			    "\"us\":\"2026-11-26T03:54:40.012345Z\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),	     cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_hostile_text), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_time),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
