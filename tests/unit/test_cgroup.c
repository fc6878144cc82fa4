// SPDX-License-Identifier: Apache-2.0
/* The control groups of a process, as read from /proc and from the files of a group. */
#include "process/cgroup.h"

#include "process/hierarchy.h"
#include "process/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/scratch.h"

#define M2 "/sys/fs/cgroup"
#define M M2 "/"
#define LONG_SIZE 6000

static const char *told; /* contents of /proc/PID/cgroup */

void __wrap_proc_cgroup(pid_t pid, char *buf, size_t size);
void __wrap_proc_cgroup(pid_t pid, char *buf, size_t size)
{
	(void)pid;
	snprintf(buf, size, "%s", told);
}

/* All mounted hierarchies: version 2, and two of version 1. */
static struct hierarchies here;

const struct hierarchies *__wrap_hierarchies_here(void);
const struct hierarchies *__wrap_hierarchies_here(void)
{
	return &here;
}

static void mount_all(void)
{
	const char *const lines[] = {
		"31 23 0:28 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate",
		"32 23 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
		"33 23 0:30 / /sys/fs/cgroup/cpu,cpuset rw - cgroup cgroup rw,cpu,cpuset",
		"34 23 0:31 / /sys rw - sysfs sysfs rw",
	};
	char line[128];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		snprintf(line, sizeof(line), "%s", lines[i]);
		hierarchies_add(&here, line);
	}
	assert_int_equal(here.n, 3);
}

static void note(void *ctx, const char *group)
{
	char *seen = ctx;

	assert_true(strlen(seen) + strlen(group) + 2 < 2 * LONG_SIZE);
	strcat(seen, group);
	strcat(seen, " ");
}

static void sees(const char *text, const char *folders)
{
	static char seen[2 * LONG_SIZE];

	told = text;
	seen[0] = '\0';
	cgroup_each(1, "memory", note, seen);
	assert_string_equal(seen, folders);
}

static void test_each(void **state)
{
	static const struct {
		const char *text, *folders;
	} cases[] = {
		{ "", "" },
		{ "0::/\n", "/sys/fs/cgroup " },
		{ "0::/a/b\n", M "a/b " M "a /sys/fs/cgroup " },
		{ "0::/a", M "a /sys/fs/cgroup " },
		{ "4:memory:/a\n", M "memory/a " M "memory " },
		{ "4:cpu,memory:/a\n3:cpuset:/b\n", M "memory/a " M "memory " },
		{ "0::/..a/b..\n", M "..a/b.. " M "..a /sys/fs/cgroup " },
		/* Version 1 hierarchies with other controllers, some with similar names. */
		{ "4:memoryx,xmemory:/a\n", "" },
		{ "1:name=memory:/a\n", "" },
		/* Not a group that we can reach, such as one above the root of a namespace. */
		{ "0::/../a\n", "" },
		{ "0::/a/..\n", "" },
		{ "0::a\n", "" },
		/* Malformed lines. */
		{ "0\n", "" },
		{ "0:\n", "" },
		{ "\n\n", "" },
		{ ":::\n0::/a\n", M "a /sys/fs/cgroup " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		sees(cases[i].text, cases[i].folders);
}

/* A name that does not fit is skipped: its beginning would name another group. */
static void test_long(void **state)
{
	static char name[LONG_SIZE + 1], text[LONG_SIZE + 64];

	(void)state;
	memset(name, 'a', LONG_SIZE);
	snprintf(text, sizeof(text), "0::/%s", name);
	sees(text, "");
	snprintf(text, sizeof(text), "4:memory,%s:/b", name);
	sees(text, M "memory/b " M "memory ");
}

static void test_numbers(void **state)
{
	static const struct {
		const char *file;
		bool is_number;
		uint64_t number;
	} cases[] = {
		{ "zero", true, 0 },	 { "most", true, UINT64_MAX }, { "unended", true, 7 },
		{ "more", false, 0 },	 { "max", false, 0 },	       { "empty", false, 0 },
		{ "missing", false, 0 },
	};
	uint64_t number;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(cgroup_number(folder, cases[i].file, &number), cases[i].is_number);
		if (cases[i].is_number)
			assert_int_equal(number, cases[i].number);
	}
}

static void test_keyed(void **state)
{
	static const struct {
		const char *key;
		bool is_there;
		uint64_t number;
	} cases[] = {
		{ "file", true, 1 }, { "inactive_file", true, 3 }, { "last", true, 4 },
		{ "fil", false, 0 }, { "file_", false, 0 },	   { "none", false, 0 },
		{ "", false, 0 },
	};
	uint64_t number;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(cgroup_keyed(folder, "stat", cases[i].key, &number),
				 cases[i].is_there);
		if (cases[i].is_there)
			assert_int_equal(number, cases[i].number);
	}
	assert_false(cgroup_keyed(folder, "missing", "file", &number));
}

/* Are all groups visible that may have a limit? Only the parent folders of these exist. */
static bool sees_all(const char *text, bool whole)
{
	char seen[4096] = "";

	told = text;
	for (size_t i = 0; i < here.n; i++)
		here.v[i].whole = whole;
	return cgroup_each(1, "memory", note, seen);
}

static void test_sees_all(void **state)
{
	static const struct {
		const char *text;
		bool all;
	} cases[] = {
		{ "0::/\n", true },
		{ "0::/no-such-group\n", false },
		{ "0::/../a\n", false },
		/* Version 1 takes precedence if it has the controller. */
		{ "4:memory:/\n0::/../a\n", true },
		{ "4:memory:/../a\n0::/\n", false },
		{ "0::/\n4:memory:/../a\n", false },
		{ "4:pids:/../a\n0::/\n", true },
		/* No control groups. */
		{ "", true },
	};

	(void)state;
	for (size_t i = 0; i < here.n; i++)
		strcpy(here.v[i].folder, "/proc");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(sees_all(cases[i].text, true), cases[i].all);
		assert_false(sees_all(cases[i].text, false) && strchr(cases[i].text, ':'));
	}
}

static void test_shown(void **state)
{
	char name[64];

	(void)state;
	assert_string_equal(cgroup_shown("/proc/a/b", name, sizeof(name)), M2 "/a/b");
	assert_string_equal(cgroup_shown("/proc", name, sizeof(name)), M2);
	assert_string_equal(cgroup_shown("/process", name, sizeof(name)), "/process");
}

static int setup(void **state)
{
	(void)state;
	mount_all();
	return scratch_make(
		"echo 0 >zero; echo 18446744073709551615 >most; printf 7 >unended; "
		"echo 18446744073709551616 >more; echo max >max; : >empty; "
		"printf 'file 1\\nfile_mapped 2\\ninactive_file 3\\nnone\\nlast 4' >stat");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each),	 cmocka_unit_test(test_long),
		cmocka_unit_test(test_sees_all), /* test_shown needs the mounts set here */
		cmocka_unit_test(test_shown),	 cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_keyed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
