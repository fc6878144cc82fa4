// SPDX-License-Identifier: Apache-2.0
#include "ops/target/open.h"
#include "tests/unit/said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT 4

static char server[] = "/opt/server (deleted)", one[] = "/usr/lib/libone.so",
	    other[] = "/opt/lib/libone.so", odd[] = "/opt/odd\033[31m.so";
static struct image images[COUNT] = {
	{ .path = server, .is_deleted = true },
	{ .path = one },
	{ .path = other },
	{ .path = odd },
};
static struct jemalloc all[COUNT] = {
	{ .image = &images[0], .prefix = "je_" },
	{ .image = &images[1] },
	{ .image = &images[2], .prefix = "duckdb_je_" },
	{ .image = &images[3], .prefix = "je_" },
};

static void picks(const char *name, size_t wanted)
{
	struct jemalloc *picked = NULL;
	struct err err;

	assert_int_equal(pick_jemalloc(all, COUNT, name, &picked, &err), 0);
	assert_ptr_equal(picked, &all[wanted]);
}

static void fails(const char *name, enum err_code code)
{
	struct jemalloc *picked = &all[1];
	struct err err = ERR_INIT;

	assert_int_equal(pick_jemalloc(all, COUNT, name, &picked, &err), -1);
	assert_int_equal(err.code, code);
	assert_ptr_equal(picked, &all[1]);
	assert_non_null(strstr(said(&err), "/usr/lib/libone.so (no prefix)"));
	assert_non_null(strstr(said(&err), "/opt/lib/libone.so (duckdb_je_)"));
	assert_null(strchr(said(&err), '\033'));
	assert_int_equal(err.fixes[0], FIX_NAME_ONE_JEMALLOC);
}

static void test_picked(void **state)
{
	(void)state;
	picks(NULL, 0);
	picks("/opt/server", 0);
	picks("/opt/server (deleted)", 0);
	picks("server", 0);
	picks(one, 1);
	picks("duckdb_je_", 2);
	picks(odd, 3);
}

static void test_refused(void **state)
{
	(void)state;
	fails("", ERR_NOJEMALLOC);
	fails("duckdb_", ERR_NOJEMALLOC);
	fails("/usr/lib", ERR_NOJEMALLOC);
	fails("serve", ERR_NOJEMALLOC);
	fails("je_", ERR_USAGE);
	fails("libone.so", ERR_USAGE);
}

/* A process is known by its start time as well: another one may have its number by now. */
static void test_start_time(void **state)
{
	struct session s = SESSION_INIT;
	struct ops_options options = { .stop_fd = -1 };
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(session_open_proc(&s, getpid(), &options, &err), 0);
	options.start_time = s.proc.start_time;
	session_close(&s);
	assert_int_equal(session_open_proc(&s, getpid(), &options, &err), 0);
	session_close(&s);
	options.start_time--;
	assert_int_equal(session_open_proc(&s, getpid(), &options, &err), -1);
	assert_int_equal(err.code, ERR_NOPROC);
	assert_int_equal(err.ids[0], ERROR_ENDED_MEANWHILE);
	session_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_picked),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_start_time),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
