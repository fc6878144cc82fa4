// SPDX-License-Identifier: Apache-2.0
/* The store of runs: listing, removal, and the remains of killed runs. */
#include "serve/store.h"

#include "api/run.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/scratch.h"

static struct store store = STORE_INIT;

static int begin(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	run("rm -rf kept file");
	store = (struct store)STORE_INIT;
	return store_open(&store, "kept/runs", &err);
}

static int finish(void **state)
{
	(void)state;
	store_close(&store);
	return 0;
}

static bool is_there(const char *path)
{
	struct stat st;

	return !stat(path, &st);
}

static struct json_object *document(uint64_t id, pid_t pid, const char *state)
{
	struct json_object *doc = json_object_new_object();

	json_set_u64(doc, "id", id);
	json_set_text(doc, "state", state);
	json_set_int(doc, "pid", pid);
	json_set_u64(doc, "duration_ms", 1000);
	return doc;
}

static void put(uint64_t id, const char *name, size_t bytes)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "kept/runs/%" PRIu64 "/%s", id, name);
	f = fopen(path, "w");
	assert_non_null(f);
	for (size_t i = 0; i < bytes; i++)
		fputc('x', f);
	fclose(f);
}

/* Make a run with a profile of `bytes` bytes. A running one is returned in `given`, locked. */
static void make(uint64_t id, pid_t pid, const char *state, size_t bytes, struct run *given)
{
	struct run own = RUN_INIT;
	struct run *r = given ? given : &own;
	_cleanup_(json_close) struct json_object *doc = document(id, pid, state);
	struct err err = ERR_INIT;

	assert_int_equal(run_begin(&store, id, r, &err), 0);
	assert_int_equal(run_write(r, doc, &err), 0);
	if (bytes)
		put(id, "profile.heap", bytes);
	run_close(&own);
}

static const char *state_of(uint64_t id, char buf[32])
{
	_cleanup_(json_close) struct json_object *doc = NULL;
	struct err err = ERR_INIT;

	if (store_load(&store, id, &doc, &err))
		return "none";
	snprintf(buf, 32, "%s", json_object_get_string(json_object_object_get(doc, "state")));
	return buf;
}

/* The numbers of all runs, or of those of process `pid`, as in "3 2 1". */
static const char *list(pid_t pid, char buf[128])
{
	_cleanup_(json_close) struct json_object *all = NULL;
	struct err err = ERR_INIT;
	size_t used = 0;

	buf[0] = '\0';
	assert_int_equal(store_list(&store, pid, &all, &err), 0);
	for (size_t i = 0; i < json_object_array_length(all); i++)
		used += (size_t)snprintf(buf + used, 128 - used, "%s%s", i ? " " : "",
					 json_object_get_string(json_object_object_get(
						 json_object_array_get_idx(all, i), "id")));
	return buf;
}

static void test_open(void **state)
{
	struct store other = STORE_INIT;
	struct err err = ERR_INIT;
	struct stat st;

	(void)state;
	assert_int_equal(stat("kept/runs", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(store.path[0], '/');
	assert_int_equal(store_open(&other, "kept/runs", &err), -1);
	assert_int_equal(err.ids[0], ERROR_RUNS_TAKEN);
	store_close(&other);
	store_close(&store);
	chmod("kept/runs", 0770);
	assert_int_equal(store_open(&other, "kept/runs", &err), -1);
	assert_int_equal(err.ids[0], ERROR_RUNS_NOT_OURS);
	store_close(&other);
	assert_int_equal(store_open(&other, "/proc/runs", &err), -1);
	assert_int_equal(err.ids[0], ERROR_RUNS_FAILED);
	store_close(&other);
	run("touch file");
	assert_int_equal(store_open(&other, "file", &err), -1);
	assert_int_equal(err.ids[0], ERROR_RUNS_FAILED);
	store_close(&other);
}

static void test_numbers(void **state)
{
	uint64_t now = (uint64_t)time(NULL), first = store_next(&store);
	struct err err = ERR_INIT;

	(void)state;
	assert_in_range(first, now, now + 60);
	assert_int_equal(store_next(&store), first + 1);
	/* Existing numbers are not reused, whatever the clock says. */
	make(9000000000, 1, "done", 1, NULL);
	store_close(&store);
	assert_int_equal(store_open(&store, "kept/runs", &err), 0);
	assert_true(store_next(&store) == 9000000001);
}

/* Processes that number their runs concurrently get different numbers. */
static void test_numbers_at_once(void **state)
{
	enum { PROCESSES = 4, EACH = 50 };
	struct run one = RUN_INIT;
	struct err err = ERR_INIT;
	uint64_t id, after;
	int status;

	(void)state;
	for (int i = 0; i < PROCESSES; i++) {
		if (fork())
			continue;
		for (int k = 0; k < EACH; k++)
			if (run_begin_next(&store, &id, &one, &err))
				_exit(1);
		_exit(0);
	}
	for (int i = 0; i < PROCESSES; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(run_begin_next(&store, &id, &one, &err), 0);
	run_close(&one);
	/* A number that another process has taken in the meantime is skipped. */
	after = id + 1 > (uint64_t)time(NULL) + 1000 ? id + 1 : (uint64_t)time(NULL) + 1000;
	*store.last = after;
	make(after + 1, 1, "done", 1, NULL);
	assert_int_equal(run_begin_next(&store, &id, &one, &err), 0);
	assert_int_equal(id, after + 2);
	run_close(&one);
}

static void test_list(void **state)
{
	static const char *const others[] = { "x", "01", "-1", "1.5", "12345678901234567", "0" };
	char buf[128], path[64];

	(void)state;
	assert_string_equal(list(0, buf), "");
	make(3, 7, "done", 1, NULL);
	make(10, 8, "failed", 0, NULL);
	make(5, 7, "stopped", 1, NULL);
	/* Anything that is not a run is ignored. */
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(path, sizeof(path), "kept/runs/%s", others[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	assert_int_equal(mkdir("kept/runs/77", 0700), 0);
	assert_int_equal(symlink("3", "kept/runs/78"), 0);
	assert_string_equal(list(0, buf), "10 5 3");
	assert_string_equal(list(7, buf), "5 3");
	assert_string_equal(list(9, buf), "");
}

static void test_load(void **state)
{
	_cleanup_(json_close) struct json_object *doc = NULL;
	struct err err = ERR_INIT;
	struct json_object *ignored;

	(void)state;
	make(3, 7, "done", 100, NULL);
	put(3, "profile.base.heap", 20);
	put(3, "profile.raw", 3);
	assert_int_equal(store_load(&store, 3, &doc, &err), 0);
	assert_int_equal(json_object_get_int64(json_object_object_get(doc, "profile_bytes")), 100);
	assert_int_equal(json_object_get_int64(json_object_object_get(doc, "base_bytes")), 20);
	assert_int_equal(json_object_get_int64(json_object_object_get(doc, "bytes")), 123);
	assert_null(json_object_object_get(doc, "remaining_ms"));
	assert_int_equal(store_load(&store, 4, &ignored, &err), -1);
	assert_int_equal(err.ids[0], ERROR_NO_RUN);
	put(3, "run.json", 10);
	assert_int_equal(store_load(&store, 3, &ignored, &err), -1);
	assert_int_equal(err.ids[0], ERROR_RUN_UNREADABLE);
	run("echo [] >kept/runs/3/run.json");
	assert_int_equal(store_load(&store, 3, &ignored, &err), -1);
}

static void test_profiles(void **state)
{
	struct err err = ERR_INIT;
	struct stat st;
	int fd;

	(void)state;
	make(3, 7, "done", 100, NULL);
	put(3, "profile.raw", 50);
	assert_int_equal(store_open_profile(&store, 3, false, false, &fd, &err), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 100);
	close(fd);
	assert_int_equal(store_open_profile(&store, 3, false, true, &fd, &err), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 50);
	close(fd);
	/* If there is no symbolized profile, the plain one is opened. */
	put(3, "profile.base.heap", 20);
	assert_int_equal(store_open_profile(&store, 3, true, true, &fd, &err), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 20);
	close(fd);
	make(4, 7, "failed", 0, NULL);
	assert_int_equal(store_open_profile(&store, 4, false, true, &fd, &err), -1);
	assert_int_equal(err.ids[0], ERROR_NO_RUN_PROFILE);
	assert_int_equal(store_open_profile(&store, 5, false, true, &fd, &err), -1);
	assert_int_equal(err.ids[0], ERROR_NO_RUN);
	/* Symbolic links are not followed. */
	assert_int_equal(symlink("/etc/passwd", "kept/runs/4/profile.heap"), 0);
	assert_int_equal(store_open_profile(&store, 4, false, false, &fd, &err), -1);
}

static void test_running(void **state)
{
	struct run one = RUN_INIT;
	struct err err = ERR_INIT;
	char buf[32];

	(void)state;
	make(3, 7, "running", 1, &one);
	assert_string_equal(state_of(3, buf), "running");
	assert_true(store_find(&store, 7, 0) == 3);
	assert_true(store_find(&store, 7, 3) == 0);
	assert_true(store_find(&store, 8, 0) == 0);
	assert_int_equal(store_remove(&store, 3, &err), -1);
	assert_int_equal(err.ids[0], ERROR_RUN_GOES_ON);
	/* The process that did the run has exited. */
	run_close(&one);
	assert_string_equal(state_of(3, buf), "left");
	assert_true(store_find(&store, 7, 0) == 0);
	assert_int_equal(store_remove(&store, 3, &err), 0);
	assert_string_equal(state_of(3, buf), "none");
	assert_false(is_there("kept/runs/3"));
	assert_int_equal(store_remove(&store, 3, &err), -1);
	assert_int_equal(err.ids[0], ERROR_NO_RUN);
}

static void test_drop(void **state)
{
	struct run one = RUN_INIT;

	(void)state;
	make(3, 7, "running", 1, &one);
	run_drop(&one);
	assert_false(is_there("kept/runs/3"));
	assert_int_equal(one.dir, -1);
}

static void test_retain(void **state)
{
	struct run one = RUN_INIT;
	char buf[128];

	(void)state;
	make(1, 7, "running", 1, &one);
	for (uint64_t id = 2; id <= 6; id++)
		make(id, 7, "done", 100, NULL);
	store_retain(&store); /* no limit is set */
	assert_string_equal(list(0, buf), "6 5 4 3 2 1");
	store.keep = 3;
	store_retain(&store);
	assert_string_equal(list(0, buf), "6 5 4 1"); /* a running one is kept */
	store.max_bytes = 250;
	store_retain(&store);
	assert_string_equal(list(0, buf), "6 5 1");
	store.max_bytes = 1;
	store_retain(&store);
	assert_string_equal(list(0, buf), "6 1"); /* and so is the newest */
	run_close(&one);
}

static void test_repair(void **state)
{
	const struct ops_options options = { .stop_fd = -1 };
	struct run one = RUN_INIT;
	struct err err = ERR_INIT;
	char buf[32];

	(void)state;
	make(1, INT32_MAX, "running", 1, NULL); /* no such process */
	make(2, INT32_MAX, "running", 1, &one);
	make(3, INT32_MAX, "done", 1, NULL);
	assert_int_equal(mkdir("kept/runs/4", 0700), 0); /* killed before run.json was written */
	run("touch -d '2 minutes ago' kept/runs/4");
	assert_int_equal(mkdir("kept/runs/5", 0700), 0); /* about to write it */
	assert_int_equal(store_repair(&store, &options, &err), 0);
	run("grep -q interrupted kept/runs/1/run.json");
	assert_string_equal(state_of(2, buf), "running");
	assert_string_equal(state_of(3, buf), "done");
	assert_false(is_there("kept/runs/4"));
	assert_true(is_there("kept/runs/5"));
	run_close(&one);
}

/* A run that cannot be read is not removed. */
static void test_repair_unreadable(void **state)
{
	const struct ops_options options = { .stop_fd = -1 };
	struct err err = ERR_INIT;

	(void)state;
	make(3, 7, "done", 1, NULL);
	run("echo {} >kept/runs/3/run.json; touch -d '2 minutes ago' kept/runs/3");
	assert_int_equal(store_repair(&store, &options, &err), 0);
	run("echo [ >kept/runs/3/run.json; touch -d '2 minutes ago' kept/runs/3");
	assert_int_equal(store_repair(&store, &options, &err), 0);
	assert_true(is_there("kept/runs/3/profile.heap"));
}

/* A killed run may leave a temporary file that it had not renamed yet. */
static void test_half_written(void **state)
{
	_cleanup_(json_close) struct json_object *doc = NULL;
	struct err err = ERR_INIT;

	(void)state;
	make(3, 7, "done", 10, NULL);
	put(3, ".profile.raw.42.7.1", 100);
	assert_int_equal(store_load(&store, 3, &doc, &err), 0);
	assert_int_equal(json_object_get_int64(json_object_object_get(doc, "bytes")), 110);
	assert_int_equal(store_remove(&store, 3, &err), 0);
	assert_false(is_there("kept/runs/3"));
}

static void test_none(void **state)
{
	const struct store none = STORE_INIT;
	struct json_object *all = NULL, *doc;
	struct run one = RUN_INIT;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(store_list(&none, 0, &all, &err), 0);
	assert_int_equal(json_object_array_length(all), 0);
	json_object_put(all);
	assert_int_equal(store_load(&none, 1, &doc, &err), -1);
	assert_int_equal(err.ids[0], ERROR_NO_RUNS);
	assert_int_equal(run_begin(&none, 1, &one, &err), -1);
	assert_int_equal(err.ids[0], ERROR_NO_RUNS);
}

static int setup(void **state)
{
	(void)state;
	return scratch_make(":") || chdir(folder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(open),   TEST(numbers),  TEST(numbers_at_once),   TEST(list),
		TEST(load),   TEST(profiles), TEST(running),	       TEST(drop),
		TEST(retain), TEST(repair),   TEST(repair_unreadable), TEST(half_written),
		TEST(none),
	};

	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
