// SPDX-License-Identifier: Apache-2.0
#include "base/intern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_once(void **state)
{
	struct intern *in = intern_new();
	char text[] = "abcabcd";
	const char *abc = intern_add(in, text, 3);

	(void)state;
	assert_string_equal(abc, "abc");
	assert_ptr_equal(intern_add(in, text + 3, 3), abc);
	assert_ptr_not_equal(intern_add(in, text + 3, 4), abc);
	assert_ptr_not_equal(intern_add(in, text, 2), abc);
	assert_string_equal(intern_add(in, text, 0), "");
	intern_free(in);
	intern_free(NULL);
}

static void test_many(void **state)
{
	static const char *first[20000];
	struct intern *in = intern_new();
	char text[32];

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 20000; i++) {
			const char *s;

			snprintf(text, sizeof(text), "name%d", i);
			s = intern_add(in, text, strlen(text));
			assert_string_equal(s, text);
			if (round)
				assert_ptr_equal(s, first[i]);
			first[i] = s;
		}
	}
	intern_free(in);
}

static void test_long(void **state)
{
	static char text[200000];
	struct intern *in = intern_new();
	const char *a, *b;

	(void)state;
	memset(text, 'y', sizeof(text) - 1);
	a = intern_add(in, "a", 1);
	b = intern_add(in, text, sizeof(text) - 1);
	assert_string_equal(b, text);
	assert_string_equal(a, "a");
	assert_ptr_equal(intern_add(in, text, sizeof(text) - 1), b);
	intern_free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
