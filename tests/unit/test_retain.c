// SPDX-License-Identifier: Apache-2.0
/* How many profiles of guards stay in a folder, and that nothing else in it is touched. */
#include "ops/guard/retain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/unit/said.h"
#include "tests/unit/scratch.h"

#define DAY "20261126T"

static int dir = -1;

/* Creates a file with a hole of `bytes` bytes. */
static void made(const char *name, off_t bytes)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0 && !ftruncate(fd, bytes));
	close(fd);
}

static bool is_left(const char *name)
{
	struct stat st;

	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW);
}

/*
 * Calls fn() with PROCESS.DAYTIMEZ.guard-WORD.heap for each "PROCESS.TIME-WORD" in a list. Returns
 * the length of the list.
 */
static size_t for_each(const char *list, void (*fn)(const char *name))
{
	char copy[512], name[256], *rest = copy;
	size_t n = 0;

	snprintf(copy, sizeof(copy), "%s", list);
	for (const char *one; (one = strsep(&rest, " ")); n++) {
		const char *time = strrchr(one, '.') + 1, *dash = strrchr(one, '-');

		snprintf(name, sizeof(name), "%.*s" DAY "%.*sZ.guard-%s.heap", (int)(time - one),
			 one, (int)(dash - time), time, dash + 1);
		fn(name);
	}
	return n;
}

static void make_profile(const char *name)
{
	made(name, 100);
}

static void made_all(const char *list)
{
	for_each(list, make_profile);
}

static void retain(unsigned int keep, uint64_t max_bytes, const char *newest)
{
	struct err err = ERR_INIT;

	if (guard_retain(folder, keep, max_bytes, newest, &err))
		fail_msg("%s", said(&err));
}

static size_t count(void)
{
	DIR *d = opendir(folder);
	size_t n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void must_be_left(const char *name)
{
	if (!is_left(name))
		fail_msg("%s was removed", name);
}

/* Exactly these files are left. */
static void assert_left(const char *list)
{
	assert_int_equal(count(), for_each(list, must_be_left));
}

static int empty(void **state)
{
	(void)state;
	run("find . -mindepth 1 -delete");
	return 0;
}

/* --- number of profiles --- */

#define FIVE "a.1.100000-rss a.1.100001-psi a.1.100002-every a.1.100003-rss a.1.100004-high"

static void test_keep(void **state)
{
	(void)state;
	made_all(FIVE);
	retain(0, 0, "a.1." DAY "100004Z.guard-high.heap");
	retain(5, 0, "a.1." DAY "100004Z.guard-high.heap");
	assert_left(FIVE);
	retain(2, 0, "a.1." DAY "100004Z.guard-high.heap");
	assert_left("a.1.100003-rss a.1.100004-high");
}

/* Per process, which is a name and a pid: a pid that runs another program is another process. */
static void test_keep_of_each(void **state)
{
	(void)state;
	made_all("a.1.100000-rss a.1.100001-rss b.1.090000-rss b.1.090001-rss a.12.080000-rss "
		 "a.12.080001-rss a.b.1.070000-rss a.b.1.070001-rss");
	retain(1, 0, "a.1." DAY "100001Z.guard-rss.heap");
	assert_left("a.1.100001-rss b.1.090001-rss a.12.080001-rss a.b.1.070001-rss");
}

/* The time in the name counts, including its date. */
static void test_order(void **state)
{
	(void)state;
	made("a.1.20261231T235959Z.guard-rss.heap", 100);
	made("a.1.20270101T000000Z.guard-every.heap", 100);
	made("a.1.19991231T235959Z.guard-rss.heap", 100);
	retain(1, 0, "none");
	assert_int_equal(count(), 1);
	assert_true(is_left("a.1.20270101T000000Z.guard-every.heap"));
}

/* Profiles of the same second are ordered by name, so that the order is always the same. */
static void test_same_second(void **state)
{
	(void)state;
	made_all("a.1.100000-rss a.1.100000-every a.1.100000-psi a.1.100000-cgroup");
	retain(2, 0, "none");
	assert_left("a.1.100000-rss a.1.100000-psi");
	/* But the newest one is kept. */
	made_all("a.1.100000-cgroup");
	retain(2, 0, "a.1." DAY "100000Z.guard-cgroup.heap");
	assert_left("a.1.100000-rss a.1.100000-cgroup");
}

/* Even if the clock was set back. */
static void test_newest(void **state)
{
	(void)state;
	made_all("a.1.100000-rss a.1.100001-rss a.1.090000-rss");
	retain(1, 0, "a.1." DAY "090000Z.guard-rss.heap");
	assert_left("a.1.090000-rss");
	made_all("a.1.100000-rss");
	retain(0, 1, "a.1." DAY "090000Z.guard-rss.heap");
	assert_left("a.1.090000-rss");
}

/* --- total size --- */

static void test_bytes(void **state)
{
	(void)state;
	made_all(FIVE);
	retain(0, 500, "none");
	assert_left(FIVE);
	retain(0, 499, "none");
	assert_left("a.1.100001-psi a.1.100002-every a.1.100003-rss a.1.100004-high");
	retain(3, 200, "none");
	assert_left("a.1.100003-rss a.1.100004-high");
	retain(1, 200, "none");
	assert_left("a.1.100004-high");
	retain(0, 99, "none");
	assert_int_equal(count(), 0);
}

/* All processes together, the oldest first. If a profile does not fit, no older one does. */
static void test_bytes_of_all(void **state)
{
	(void)state;
	made_all("a.1.100000-rss b.2.100001-rss a.1.100004-rss");
	made("c.3." DAY "100003Z.guard-rss.heap", 1000);
	retain(0, 400, "a.1." DAY "100004Z.guard-rss.heap");
	assert_left("a.1.100004-rss");
	made("c.3." DAY "100003Z.guard-rss.heap", INT64_C(1) << 40);
	retain(0, (UINT64_C(1) << 40) + 100, "none");
	retain(0, UINT64_MAX, "none");
	assert_left("c.3.100003-rss a.1.100004-rss");
	retain(0, UINT64_C(1) << 40, "none");
	assert_left("a.1.100004-rss");
}

/* --- files that belong to a profile --- */

static void test_belongings(void **state)
{
	(void)state;
	made_all("a.1.100000-rss a.1.100001-rss");
	made("a.1." DAY "100000Z.guard-rss.base.heap", 50);
	made("a.1." DAY "100000Z.guard-rss.json", 10);
	made("a.1." DAY "100001Z.guard-rss.base.heap", 50);
	made("a.1." DAY "100001Z.guard-rss.json", 10);
	made("a.1." DAY "095959Z.guard-rss.json", 10); /* its profile does not exist */
	/* They do not count as profiles, but their bytes do. */
	retain(2, 320, "none");
	assert_int_equal(count(), 7);
	retain(2, 319, "none");
	assert_int_equal(count(), 4);
	assert_true(is_left("a.1." DAY "100001Z.guard-rss.heap"));
	assert_true(is_left("a.1." DAY "100001Z.guard-rss.base.heap"));
	assert_true(is_left("a.1." DAY "100001Z.guard-rss.json"));
	assert_true(is_left("a.1." DAY "095959Z.guard-rss.json"));
}

/* --- other files --- */

static void test_others(void **state)
{
	static const char *const names[] = {
		/* from other commands, and from jemalloc */
		"a.1." DAY "110000Z.heap",
		"a.1." DAY "110000Z.base.heap",
		"a.1." DAY "110000Z.3.heap",
		"jeprof.1.0.f.heap",
		"jeprof.1.0.guard-rss.heap",
		/* without a name, a pid or a time */
		"1." DAY "110000Z.guard-rss.heap",
		"." DAY "110000Z.guard-rss.heap",
		"a." DAY "110000Z.guard-rss.heap",
		"a.b." DAY "110000Z.guard-rss.heap",
		"a.1.guard-rss.heap",
		"a.1.20261126.guard-rss.heap",
		"a.1.20261326T110000Z.guard-rss.heap",
		"guard-rss.heap",
		".guard-rss.heap",
		".heap",
		"guard.1.heap",
		/* with missing or additional parts */
		"a.1." DAY "110000Z.guard-rss",
		"a.1." DAY "110000Z.guard-rss.heap.gz",
		"a.1." DAY "110000Z.guard-rss.heap~",
		"a.1." DAY "110000Z.guard-rss.HEAP",
		"a.1." DAY "110000Z.guard-rss.svg",
		"a.1." DAY "110000Z.guard-rss.1.heap",
		"a.1." DAY "110000Z.guard-rss.base.base.heap",
		"a.1." DAY "110000Z.guard-rss-keep.heap",
		"a.1." DAY "110000Z.guard-.heap",
		"a.1." DAY "110000Z.guard-mine.heap",
		"a.1." DAY "110000Z.guardrss.heap",
		"a.1." DAY "110000Z.rss.heap",
	};
	size_t n = sizeof(names) / sizeof(*names);

	(void)state;
	for (size_t i = 0; i < n; i++)
		made(names[i], 1000);
	made_all("a.1.100000-rss");
	/* They are newer than ours, but do not take its place. */
	retain(1, 100, "none");
	assert_int_equal(count(), n + 1);
	retain(1, 1, "none");
	for (size_t i = 0; i < n; i++)
		must_be_left(names[i]);
	assert_int_equal(count(), n);
}

/* One of our names on something other than a regular file. */
static void test_no_files(void **state)
{
	(void)state;
	made("kept", 1000);
	run("ln -s kept a.1." DAY "090000Z.guard-rss.heap; ln -s none a.1." DAY
	    "090001Z.guard-rss.heap; mkdir a.1." DAY "090002Z.guard-rss.heap; mkfifo a.1." DAY
	    "090003Z.guard-rss.heap");
	made_all("a.1.080000-rss a.1.080001-rss");
	retain(1, 100, "none");
	assert_int_equal(count(), 6);
	assert_true(is_left("kept"));
	assert_true(is_left("a.1." DAY "080001Z.guard-rss.heap"));
	assert_false(is_left("a.1." DAY "080000Z.guard-rss.heap"));
	/* A link that belongs to a profile is removed with it; its target is not. */
	run("ln -s kept a.1." DAY "080001Z.guard-rss.json");
	retain(0, 100, "none");
	assert_int_equal(count(), 7);
	retain(0, 99, "none");
	assert_int_equal(count(), 5);
	assert_true(is_left("kept"));
}

/* --- failures --- */

static void test_no_folder(void **state)
{
	struct err err = ERR_INIT;
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "%s/missing", folder);
	assert_int_equal(guard_retain(path, 1, 1, "none", &err), -1);
	assert_int_equal(err.code, ERR_OUTPUT);
	assert_int_equal(err.ids[0], ERROR_FOLDER_UNREADABLE);
	assert_int_equal(err.sys, ENOENT);
	assert_non_null(strstr(said(&err), path));
}

/* A file that cannot be removed does not prevent the removal of others. */
static void test_unremovable(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	made_all("a.1.100000-rss a.1.100001-rss a.1.100002-rss");
	run("mkdir a.1." DAY "100001Z.guard-rss.json");
	assert_int_equal(guard_retain(folder, 1, 0, "none", &err), -1);
	assert_int_equal(err.code, ERR_OUTPUT);
	assert_int_equal(err.ids[0], ERROR_FILE_UNREMOVABLE);
	assert_non_null(strstr(said(&err), "a.1." DAY "100001Z.guard-rss.json"));
	assert_int_equal(count(), 2);
	assert_true(is_left("a.1." DAY "100002Z.guard-rss.heap"));
	/* What is left of it no longer counts as a profile. */
	retain(1, 0, "none");
	assert_int_equal(count(), 2);
}

/* A long name, many files, and no leaked descriptor. */
static void test_many(void **state)
{
	char name[300];
	int before = dup(0), after;

	(void)state;
	memset(name, 'a', sizeof(name));
	strcpy(name + 255 - strlen(".1." DAY "100000Z.guard-rss.heap"),
	       ".1." DAY "100000Z.guard-rss.heap");
	made(name, 100);
	for (int i = 0; i < 200; i++) {
		char one[64];

		snprintf(one, sizeof(one), "b.%d." DAY "1000%02dZ.guard-rss.heap", i / 10, i % 10);
		made(one, 100);
	}
	retain(3, 0, "none");
	assert_int_equal(count(), 61);
	assert_true(is_left(name));
	retain(0, 1, name);
	assert_int_equal(count(), 1);
	after = dup(0);
	assert_int_equal(after, before + 1);
	close(before);
	close(after);
}

static int setup(void **state)
{
	(void)state;
	if (scratch_make(":"))
		return -1;
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_keep, empty),
		cmocka_unit_test_teardown(test_keep_of_each, empty),
		cmocka_unit_test_teardown(test_order, empty),
		cmocka_unit_test_teardown(test_same_second, empty),
		cmocka_unit_test_teardown(test_newest, empty),
		cmocka_unit_test_teardown(test_bytes, empty),
		cmocka_unit_test_teardown(test_bytes_of_all, empty),
		cmocka_unit_test_teardown(test_belongings, empty),
		cmocka_unit_test_teardown(test_others, empty),
		cmocka_unit_test_teardown(test_no_files, empty),
		cmocka_unit_test_teardown(test_no_folder, empty),
		cmocka_unit_test_teardown(test_unremovable, empty),
		cmocka_unit_test_teardown(test_many, empty),
	};

	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
