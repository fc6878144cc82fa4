// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "ops/target/inside.h"
#include "ops/target/open.h"
#include "tests/unit/said.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

/* A process is also identified by its start time, because PIDs are reused. */
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

/* After a stop request the folder is not checked any more, but a partial file is still removed. */
static void test_stop(void **state)
{
	char folder[] = "/tmp/test_session_pick.XXXXXX", path[64], name[] = "half.heap";
	const struct ops_options options = { .stop_fd = open("/dev/null", O_RDONLY | O_CLOEXEC) };
	struct session s = SESSION_INIT;
	struct inside in = { .s = &s, .path = path, .name = name };
	struct err err = ERR_INIT;
	uint64_t bytes = 1;
	int fd;

	(void)state;
	assert_true(options.stop_fd >= 0); /* always readable */
	s.options = &options;
	s.timeout_ms = now_ms() + 60000;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	in.dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(in.dir >= 0 && fd >= 0);
	assert_int_equal(inside_absent(&in, false, &err), -1);
	assert_int_equal(err.ids[0], ERROR_INTERRUPTED);
	assert_true(inside_size(&in, &bytes) && !bytes);
	inside_remove(&in);
	assert_int_equal(access(path, F_OK), -1);
	close(fd);
	close(in.dir);
	close(options.stop_fd);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_picked),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_start_time),
		cmocka_unit_test(test_stop),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
