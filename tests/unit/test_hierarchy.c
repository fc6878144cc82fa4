// SPDX-License-Identifier: Apache-2.0
/* Which mount has which control group; the mounts and names are made up. */
#include "process/hierarchy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void add(struct hierarchies *all, const char *text)
{
	char line[256];

	snprintf(line, sizeof(line), "%s", text);
	hierarchies_add(all, line);
}

static void test_lines(void **state)
{
	static const char *const others[] = {
		"",
		" - cgroup",
		" - cgroup2 cgroup2 rw",
		"31 23 0:28 / /a rw",
		"31 23 0:28 / /a rw - cgroup2",
		"31 23 0:28 / /a rw - cgroup2 none",
		"31 23 0:28 / /a rw - cgroup3 none rw",
		"31 23 0:28 / /a rw - tmpfs cgroup rw",
		"31 23 0:28 - cgroup2 none rw",
	};
	struct hierarchies all = { .n = 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		add(&all, others[i]);
	assert_int_equal(all.n, 0);
	add(&all, "31 23 0:28 /../a\\134b /c\\040d\\04 rw master:1 - cgroup none rw,cpu,memory\n");
	assert_int_equal(all.n, 1);
	assert_int_equal(all.v[0].mount_id, 31);
	assert_false(all.v[0].v2);
	assert_string_equal(all.v[0].root, "/../a\\b");
	assert_string_equal(all.v[0].folder, "/c d\\04");
	assert_string_equal(all.v[0].options, "rw,cpu,memory");
	for (size_t i = 0; i < 2 * HIERARCHIES_MAX; i++)
		add(&all, "32 23 0:28 / /b rw - cgroup2 none rw");
	assert_int_equal(all.n, HIERARCHIES_MAX);
	hierarchies_fini(&all);
}

/* Locates a group through the only mount. */
static void test_below(void **state)
{
	static const struct {
		const char *root, *path, *rest; /* NULL: not found */
	} cases[] = {
		{ "/", "/", "" },
		{ "/", "/a", "/a" },
		{ "/", "/a/b", "/a/b" },
		{ "/", "/..a/b..", "/..a/b.." },
		{ "/", "/...", "/..." },
		{ "/", "/..", NULL },
		{ "/", "/../a", NULL },
		{ "/", "/a/..", NULL },
		{ "/", "/a/../b", NULL },
		{ "/a", "/a", "" },
		{ "/a", "/a/b", "/b" },
		{ "/a", "/ab", NULL },
		{ "/a", "/", NULL },
		{ "/a", "/b", NULL },
		/* The root of the mount is above the root of our cgroup namespace. */
		{ "/..", "/..", "" },
		{ "/..", "/../a", "/a" },
		{ "/..", "/../../a", NULL },
		{ "/..", "/..a", NULL },
		{ "/..", "/a", NULL },
		{ "/../..", "/../../a", "/a" },
		{ "/../..", "/../a", NULL },
		{ "/../a", "/../a/b", "/b" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct hierarchies all = { .n = 0 };
		const char *rest = "?";
		char line[128], path[64];
		const struct hierarchy *found;

		snprintf(line, sizeof(line), "1 2 0:3 %s /m rw - cgroup2 none rw", cases[i].root);
		snprintf(path, sizeof(path), "%s\nnext", cases[i].path);
		add(&all, line);
		found = hierarchies_find(&all, NULL, path, strlen(cases[i].path), &rest);
		assert_int_equal(!!found, !!cases[i].rest);
		if (found)
			assert_int_equal(rest - path,
					 strlen(cases[i].path) - strlen(cases[i].rest));
		hierarchies_fini(&all);
	}
}

static const char *where(const struct hierarchies *all, const char *controller, const char *path)
{
	const char *rest;
	const struct hierarchy *h = hierarchies_find(all, controller, path, strlen(path), &rest);

	return h ? h->folder : "";
}

static void test_which(void **state)
{
	struct hierarchies all = { .n = 0 };

	(void)state;
	add(&all, "1 2 0:3 / /two rw - cgroup2 none rw,memory_recursiveprot");
	add(&all, "1 2 0:3 /.. /above rw - cgroup2 none rw");
	add(&all, "1 2 0:3 / /one rw - cgroup none rw,xattr,cpu,memory");
	add(&all, "1 2 0:3 / /named rw - cgroup none rw,name=pids");
	assert_string_equal(where(&all, NULL, "/a"), "/two");
	assert_string_equal(where(&all, NULL, "/../a"), "/above");
	assert_string_equal(where(&all, "memory", "/a"), "/one");
	assert_string_equal(where(&all, "memory", "/../a"), "");
	assert_string_equal(where(&all, "pids", "/a"), "");
	/* The mount that has all groups is preferred. */
	add(&all, "1 2 0:3 / /whole rw - cgroup2 none rw");
	all.v[4].whole = true;
	assert_string_equal(where(&all, NULL, "/a"), "/whole");
	assert_string_equal(where(&all, NULL, "/../a"), "/above");
	hierarchies_fini(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_below),
		cmocka_unit_test(test_which),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
