// SPDX-License-Identifier: Apache-2.0
#include "profile/filter.h"

#include "base/cleanup.h"
#include "tests/unit/said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool matches(const char *pattern, const char *text)
{
	_cleanup_(regex_close) struct regex *re = NULL;
	struct err err = ERR_INIT;
	bool found;

	assert_int_equal(regex_new("focus", pattern, &re, &err), 0);
	found = regex_matches(re, text);
	assert_int_equal(regex_check(re, &err), 0);
	return found;
}

/* As in Perl, which jeprof uses. */
static void test_matches(void **state)
{
	(void)state;
	assert_true(matches("loc", "malloc"));
	assert_false(matches("^loc", "malloc"));
	assert_false(matches("Malloc", "malloc"));
	assert_true(matches("(?i)Malloc", "malloc"));
	assert_true(matches("\\bgrow\\(int\\)", "oak::grow(int)"));
	assert_true(matches("^(?!je_).*alloc", "zmalloc"));
	assert_false(matches("^(?!je_).*alloc", "je_malloc"));
	assert_true(matches("f\\.c:4[0-9]$", "/src/f.c:42"));
	assert_true(matches("", ""));
	/* Names are bytes: any byte is valid. */
	assert_true(matches("b.*ro", "b\xfcro"));
	assert_true(matches("a|b", "b\nc"));
}

static void wrong(const char *pattern, const char *message)
{
	struct regex *re = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(regex_new("hide", pattern, &re, &err), -1);
	assert_null(re);
	assert_int_equal(err.code, ERR_USAGE);
	assert_memory_equal(said(&err), message, strlen(message));
}

static void test_wrong(void **state)
{
	(void)state;
	wrong("(", "--hide (: at character 1: ");
	wrong("a[b", "--hide a[b: at character 3: ");
	wrong("*", "--hide *: at character 0: ");
	/* The pattern in the message is safe to print. */
	wrong("\033[31m(", "--hide \\x1b[31m(: at character ");
}

/* A pattern that backtracks too much is stopped, and does not match anything from then on. */
static void test_too_long(void **state)
{
	_cleanup_(regex_close) struct regex *re = NULL;
	char text[64];
	struct err err = ERR_INIT;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 2] = 'b';
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(regex_new("show", "^(a+)+$", &re, &err), 0);
	assert_true(regex_matches(re, "aaa"));
	assert_int_equal(regex_check(re, &err), 0);
	assert_false(regex_matches(re, text));
	assert_false(regex_matches(re, "aaa"));
	assert_int_equal(regex_check(re, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(err.ids[0], ERROR_PATTERN_FAILED);
	assert_int_equal(regex_check(NULL, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
