// SPDX-License-Identifier: Apache-2.0
#include "base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_set(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	err_fix(&err, "an old fix");
	err.sys = EIO;
	assert_int_equal(err_set(&err, ERR_NOPROC, "there is no process %d", 7), -1);
	assert_int_equal(err.code, ERR_NOPROC);
	assert_int_equal(err.sys, 0);
	assert_string_equal(err.msg, "there is no process 7");
	assert_string_equal(err.fix, "");
}

static void test_sys_and_wrap(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(err_sys(&err, ERR_PERM, EACCES, "cannot read %s", "x"), -1);
	assert_int_equal(err_fix(&err, "be root"), -1);
	assert_int_equal(err_wrap(&err, "dump"), -1);
	assert_int_equal(err.sys, EACCES);
	assert_int_equal(err.code, ERR_PERM);
	assert_string_equal(err.msg, "dump: cannot read x: Permission denied");
	assert_string_equal(err.fix, "be root");
}

/* A message that does not fit is cut, never written past its end. */
static void test_long(void **state)
{
	char text[2000];
	struct err err = ERR_INIT;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_sys(&err, ERR_FAILED, EIO, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	err_wrap(&err, "%s", text);
	err_fix(&err, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	assert_int_equal(strlen(err.fix), sizeof(err.fix) - 1);
}

static void test_codes(void **state)
{
	(void)state;
	for (int code = 0; code < ERR_CODES; code++) {
		assert_non_null(err_code_name(code));
		assert_int_equal(err_exit_status(code), code);
	}
	assert_string_equal(err_code_name(ERR_NOPROC), "no_process");
}

/* A limit of ours is told from what failed in the target with the same errno value. */
static void test_own(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	err_sys(&err, ERR_FAILED, EMFILE, "cannot open it");
	assert_false(err_is_own(&err));
	err_own(&err);
	assert_true(err_is_own(&err));
	assert_non_null(strstr(err.fix, "ulimit -n"));
	err_sys(&err, ERR_FAILED, EAGAIN, "the target cannot make a thread");
	err_fix(&err, "raise its limits");
	assert_false(err_is_own(&err));
	err_sys(&err, ERR_FAILED, ENOENT, "cannot open it");
	err_own(&err);
	assert_false(err_is_own(&err));
	assert_string_equal(err.fix, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),  cmocka_unit_test(test_sys_and_wrap),
		cmocka_unit_test(test_long), cmocka_unit_test(test_codes),
		cmocka_unit_test(test_own),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
