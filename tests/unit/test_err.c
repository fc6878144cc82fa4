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
	err_sys(&err, ERR_PERM, EMFILE, "cannot open it");
	assert_int_equal(err.code, ERR_PERM);
	assert_true(err.own);
	err_fix(&err, "do something else");
	assert_non_null(strstr(err.fix, "ulimit -n"));
	err_target(&err, ERR_FAILED, EAGAIN, "the target cannot make a thread");
	assert_false(err.own);
	assert_int_equal(err.sys, EAGAIN);
	err_fix(&err, "raise its limits");
	assert_string_equal(err.fix, "raise its limits");
	err_sys(&err, ERR_FAILED, ENOENT, "cannot open it");
	assert_false(err.own);
	assert_string_equal(err.fix, "");
	err_sys(&err, ERR_FAILED, ENOMEM, "no memory");
	err_set(&err, ERR_FAILED, "it makes no sense");
	assert_false(err.own);
}

/* What was ignored explains what was made of it. */
static void test_noted(void **state)
{
	struct err err = ERR_INIT, ignored = ERR_INIT;

	(void)state;
	err_forget();
	err_set(&err, ERR_NOJEMALLOC, "it does not use jemalloc");
	err_explain(&err);
	assert_int_equal(err.code, ERR_NOJEMALLOC);

	err_sys(&ignored, ERR_FAILED, ENOENT, "no symbols");
	err_target(&ignored, ERR_FAILED, ENOMEM, "it has no memory");
	errno = ENFILE;
	err_note(errno, "cannot open %s", "it");
	err_sys(&ignored, ERR_FAILED, EMFILE, "a later one");
	assert_int_equal(errno, ENFILE);
	assert_true(err_is_noted());
	err_explain(&err);
	assert_int_equal(err.code, ERR_FAILED);
	assert_true(err.own);
	assert_int_equal(err.sys, ENFILE);
	assert_non_null(strstr(err.msg, "cannot open it: "));

	/* One of ours explains itself. */
	err_sys(&err, ERR_OUTPUT, EIO, "cannot write");
	err_explain(&err);
	assert_int_equal(err.code, ERR_OUTPUT);

	err_forget();
	assert_false(err_is_noted());
	err_note(EIO, "cannot read it"); /* of one file: the rest was seen */
	assert_false(err_is_noted());
	err_note(EACCES, "cannot open it");
	err_set(&err, ERR_LOST, "it has ended");
	err_explain(&err);
	assert_int_equal(err.sys, EIO);
	err_forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),  cmocka_unit_test(test_sys_and_wrap),
		cmocka_unit_test(test_long), cmocka_unit_test(test_codes),
		cmocka_unit_test(test_own),  cmocka_unit_test(test_noted),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
