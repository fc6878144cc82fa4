// SPDX-License-Identifier: Apache-2.0
#include "base/err.h"
#include "tests/unit/said.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_raise(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	err_advise(&err, FIX_RUN_AS_ROOT);
	err.sys = EIO;
	assert_int_equal(err_raise(&err, ERROR_NO_PROCESS, .pid = 7), -1);
	assert_int_equal(err.code, ERR_NOPROC);
	assert_int_equal(err.ids[0], ERROR_NO_PROCESS);
	assert_int_equal(err.ids[1], ERROR_NONE);
	assert_int_equal(err.held.pid, 7);
	assert_int_equal(err.sys, 0);
	assert_int_equal(err.fixes[0], FIX_NONE);
	assert_string_equal(said(&err), "there is no process 7");
	err_raise(&err, ERROR_THREAD_ENDED, .code = ERR_LOST, .tid = 8);
	assert_int_equal(err.code, ERR_LOST);
}

static void test_sys_and_within(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(err_raise_sys(&err, ERROR_PROC_FORBIDDEN, EACCES, .pid = 7, .name = "x"),
			 -1);
	assert_int_equal(err_advise(&err, FIX_RUN_AS_ROOT), -1);
	assert_int_equal(err_within(&err, ERROR_IN_FILE, .path = "a.heap"), -1);
	assert_int_equal(err.sys, EACCES);
	assert_int_equal(err.code, ERR_PERM);
	assert_int_equal(err.ids[0], ERROR_IN_FILE);
	assert_int_equal(err.ids[1], ERROR_PROC_FORBIDDEN);
	assert_string_equal(said(&err), "a.heap: cannot read /proc/7/x: Permission denied");
	assert_int_equal(err.fixes[0], FIX_RUN_AS_ROOT);
	/* The system's message belongs to the cause, and appears only once. */
	err_no_memory(&err);
	err_within(&err, ERROR_NOTHING_CHANGED);
	assert_string_equal(said(&err), "Cannot allocate memory; nothing was changed");
	err_raise_sys(&err, ERROR_NO_FORK, EPERM);
	err_within(&err, ERROR_NOTHING_CHANGED);
	assert_string_equal(said(&err),
			    "cannot fork: Operation not permitted; nothing was changed");
}

static void test_depth(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	err_raise(&err, ERROR_PROFILE_EMPTY);
	for (int i = 0; i < ERR_DEPTH + 2; i++)
		err_within(&err, ERROR_IN_FILE, .path = "f");
	assert_string_equal(said(&err), "f: f: f: it is empty");
	assert_int_equal(err.ids[ERR_DEPTH - 1], ERROR_PROFILE_EMPTY);
}

static void test_kinds(void **state)
{
	struct err err = ERR_INIT;
	char text[64];

	(void)state;
	err_raise(&err, ERROR_NONE, .pid = 42, .comm = "re\ndis", .size = 1536, .ms = 1250,
		  .address = 0xfff0, .signal = SIGSEGV, .number = -3);
	err.sys = ENOENT;
	assert_string_equal(err_fill(&err, "{who} {size} {number}", text, sizeof(text)),
			    "42 (re\\x0adis) 1.5K -3");
	assert_string_equal(err_fill(&err, "{ms} s {address} {signal}", text, sizeof(text)),
			    "1.2 s 0xfff0 Segmentation fault");
	assert_string_equal(err_fill(&err, "{sys}", text, sizeof(text)),
			    "No such file or directory");
}

/* A missing value is omitted with everything in its brackets. Otherwise only the brackets are. */
static void test_brackets(void **state)
{
	struct err err = ERR_INIT;
	char text[64];

	(void)state;
	err_raise(&err, ERROR_NONE, .pid = 42);
	assert_string_equal(err_fill(&err, "a[ {pid}][ {tid}] b", text, sizeof(text)), "a 42 b");
	assert_string_equal(err_fill(&err, "[{pid} {name}][{text}]c", text, sizeof(text)), "c");
	assert_string_equal(err_fill(&err, "[{pid}]", text, sizeof(text)), "42");
}

/* A text that does not fit is truncated, never written past its end. */
static void test_long(void **state)
{
	char text[2000], small[8];
	struct err err = ERR_INIT;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_raise_sys(&err, ERROR_OPEN_FAILED, EIO, .path = text);
	assert_int_equal(strlen(err.held.path), sizeof(err.held.path) - 1);
	assert_string_equal(err_text(&err, small, sizeof(small)), "cannot ");
	assert_int_equal(strlen(err_fill(&err, text, small, sizeof(small))), 7);
	err_fill(&err, "{path}{path}{path}", text, sizeof(text));
	assert_int_equal(strlen(text), 3 * (sizeof(err.held.path) - 1));
}

/* A part of an error can be an argument of the error that replaces it. */
static void test_of_itself(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	err_raise(&err, ERROR_OPEN_FAILED, .path = "/a");
	err_raise(&err, ERROR_OUTPUT_EXISTS, .path = err.held.path);
	assert_string_equal(said(&err), "/a exists");
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

/* --- the catalogue --- */

static const struct {
	const char *name, *words;
	enum err_code code;
} errors[] = {
#define ERROR(id, code, words) { #id, words, code },
#include "base/errors.def"
#undef ERROR
};

/* Is this a valid error text, with only known names, and with balanced brackets? */
static bool is_sound(const char *words)
{
	static const struct err none = ERR_INIT;
	bool open = false;

	for (const char *c = words; *c; c++) {
		bool known = false;
		struct err_field field;
		size_t len;

		if (*c == '[' || *c == ']') {
			if (open == (*c == '['))
				return false;
			open = !open;
		}
		if (*c == '}')
			return false;
		if (*c != '{')
			continue;
		len = strcspn(++c, "}");
		for (size_t i = 0; err_field(&none, i, &field); i++)
			known |= strlen(field.name) == len && !strncmp(c, field.name, len);
		if (!known && strncmp(c, "cause}", 6) && strncmp(c, "who}", 4) &&
		    strncmp(c, "sys}", 4))
			return false;
		c += len;
		if (!*c)
			return false;
	}
	return !open;
}

static void test_catalogue(void **state)
{
	char name[ERR_NAME_SIZE];

	(void)state;
	assert_false(is_sound("{pidd}"));
	assert_false(is_sound("{pid"));
	assert_false(is_sound("[{pid}"));
	assert_false(is_sound("a]"));
	for (int id = 1; id < ERRORS; id++) {
		const char *words = errors[id].words;
		size_t len = strlen(words);

		if (!is_sound(words) || !len || words[len - 1] == '.' || strchr(words, '\n'))
			fail_msg("%s: %s", errors[id].name, words);
		if (strlen(err_name(id, name)) != strlen(errors[id].name))
			fail_msg("the name is too long: %s", errors[id].name);
	}
	assert_string_equal(err_name(ERROR_NO_PROCESS, name), "no_process");
	for (int fix = 1; fix < FIXES; fix++)
		assert_true(strlen(fix_name(fix, name)) < ERR_NAME_SIZE - 1);
	assert_string_equal(fix_name(FIX_RUN_AS_ROOT, name), "run_as_root");
	assert_string_equal(fix_action(FIX_RUN_AS_ROOT), "grant");
}

/* --- fixes --- */

static void test_advise(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	err_raise(&err, ERROR_THREAD_NOT_MADE);
	err_advise(&err, FIX_RUN_AS_ROOT);
	err_advise(&err, FIX_RAISE_THAT_LIMIT, .pid = 7);
	err_advise_too(&err, FIX_IN_TARGET);
	assert_int_equal(err.fixes[0], FIX_RAISE_THAT_LIMIT);
	assert_int_equal(err.fixes[1], FIX_IN_TARGET);
	assert_int_equal(err.held.pid, 7);
	for (int i = 0; i < ERR_FIXES; i++)
		err_advise_too(&err, FIX_POKE);
	assert_int_equal(err.fixes[ERR_FIXES - 1], FIX_POKE);
	err_unadvise(&err);
	assert_int_equal(err.fixes[0], FIX_NONE);
	assert_int_equal(err.fixes[1], FIX_NONE);
}

/*
 * A limit of jeprof-ctl itself is distinguished from a failure in the target with the same errno.
 */
static void test_own(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	err_raise_sys(&err, ERROR_ROOT_UNOPENED, EMFILE, .pid = 7);
	assert_int_equal(err.code, ERR_PERM);
	assert_true(err.own);
	err_advise(&err, FIX_RUN_AS_ROOT);
	err_advise_too(&err, FIX_RUN_AS_ROOT);
	assert_int_equal(err.fixes[0], FIX_OWN_DESCRIPTORS);
	assert_int_equal(err.fixes[1], FIX_NONE);
	err_raise_target(&err, ERROR_THREAD_NOT_MADE, EAGAIN);
	assert_false(err.own);
	assert_int_equal(err.sys, EAGAIN);
	err_advise(&err, FIX_RAISE_THREAD_LIMITS);
	assert_int_equal(err.fixes[0], FIX_RAISE_THREAD_LIMITS);
	err_raise_sys(&err, ERROR_FILE_UNOPENED, ENOENT);
	assert_false(err.own);
	assert_int_equal(err.fixes[0], FIX_NONE);
	err_raise_sys(&err, ERROR_FILE_UNREADABLE, EIO);
	assert_true(err.own);
	err_advise(&err, FIX_MAKE_ROOM); /* EIO has no fix that takes precedence */
	assert_int_equal(err.fixes[0], FIX_MAKE_ROOM);
	err_no_memory(&err);
	assert_true(err.own);
	err_raise(&err, ERROR_LOOK_MALFORMED);
	assert_false(err.own);
}

/* An ignored error explains a later one that it may have caused. */
static void test_remembered(void **state)
{
	struct err err = ERR_INIT, ignored = ERR_INIT;

	(void)state;
	err_forget();
	err_raise(&err, ERROR_NO_JEMALLOC, .pid = 7);
	err_explain(&err);
	assert_int_equal(err.code, ERR_NOJEMALLOC);

	err_raise_sys(&ignored, ERROR_FILE_UNOPENED, ENOENT);
	err_raise_target(&ignored, ERROR_FILE_NOT_MADE, ENOMEM);
	errno = ENFILE;
	err_remember(errno, ERROR_OPEN_FAILED, .path = "it");
	err_raise_sys(&ignored, ERROR_FILE_UNOPENED, EMFILE);
	assert_int_equal(errno, ENFILE);
	assert_true(err_is_remembered());
	err_explain(&err);
	assert_int_equal(err.code, ERR_FAILED);
	assert_true(err.own);
	assert_int_equal(err.sys, ENFILE);
	assert_int_equal(err.ids[0], ERROR_OPEN_FAILED);
	assert_string_equal(err.held.path, "it");

	/* An error of jeprof-ctl itself is not replaced. */
	err_raise_sys(&err, ERROR_REPORT_UNWRITTEN, EIO);
	err_explain(&err);
	assert_int_equal(err.code, ERR_OUTPUT);

	err_forget();
	assert_false(err_is_remembered());
	err_remember(EIO, ERROR_READ_FAILED); /* of one file: the rest was read */
	assert_false(err_is_remembered());
	err_remember(EACCES, ERROR_OPEN_FAILED);
	err_raise(&err, ERROR_PROCESS_ENDED, .pid = 7);
	err_explain(&err);
	assert_int_equal(err.sys, EIO);
	err_forget();
}

/* By its pid, not by another number with the same value. */
static void test_names(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	err_raise(&err, ERROR_TARGET_ENDED, .pid = 42, .comm = "it");
	assert_true(err_names(&err, 42));
	assert_false(err_names(&err, 4));
	err_within(&err, ERROR_STILL_ON, .pid = 42);
	assert_true(err_names(&err, 42));
	err_raise(&err, ERROR_DUMP_NO_PROFILE, .number = 42);
	assert_false(err_names(&err, 42));
	err_advise(&err, FIX_UNDO, .pid = 42);
	assert_false(err_names(&err, 42));
	err_within(&err, ERROR_IN_PROCESS, .pid = 42);
	assert_true(err_names(&err, 42));
}

static void *remember_another(void *ctx)
{
	bool *was_clean = ctx;

	*was_clean = !err_is_remembered();
	err_remember(ENFILE, ERROR_READ_FAILED);
	return NULL;
}

/* An operation's ignored errors do not explain those of another operation. */
static void test_threads(void **state)
{
	struct err err = ERR_INIT;
	bool was_clean = false;
	pthread_t thread;

	(void)state;
	err_forget();
	err_remember(EMFILE, ERROR_OPEN_FAILED);
	assert_int_equal(pthread_create(&thread, NULL, remember_another, &was_clean), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(was_clean);
	err_explain(&err);
	assert_int_equal(err.sys, EMFILE);
	err_forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_raise),	  cmocka_unit_test(test_sys_and_within),
		cmocka_unit_test(test_depth),	  cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_brackets),  cmocka_unit_test(test_long),
		cmocka_unit_test(test_of_itself), cmocka_unit_test(test_codes),
		cmocka_unit_test(test_catalogue), cmocka_unit_test(test_advise),
		cmocka_unit_test(test_own),	  cmocka_unit_test(test_remembered),
		cmocka_unit_test(test_names),	  cmocka_unit_test(test_threads),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
