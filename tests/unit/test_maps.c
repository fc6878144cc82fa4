// SPDX-License-Identifier: Apache-2.0
#include "process/maps.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MANY 65000

static int parse(struct maps *m, const char *text, struct err *err)
{
	return maps_parse(m, strdup(text), strlen(text), err);
}

static void test_fields(void **state)
{
	_cleanup_(maps_fini) struct maps m = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(
		parse(&m,
		      "00400000-00401000 r-xp 00001000 fe:1b 247134    /usr/bin/a b\n"
		      "7f0000000000-7f0000001000 rw-s 00000000 00:00 0 \n"
		      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n",
		      &err),
		0);
	assert_int_equal(m.n, 3);
	assert_int_equal(m.v[0].start, 0x400000);
	assert_int_equal(m.v[0].end, 0x401000);
	assert_int_equal(m.v[0].offset, 0x1000);
	assert_int_equal(m.v[0].dev_major, 0xfe);
	assert_int_equal(m.v[0].dev_minor, 0x1b);
	assert_int_equal(m.v[0].inode, 247134);
	assert_int_equal(m.v[0].prot, MAP_R | MAP_X);
	assert_string_equal(m.v[0].path, "/usr/bin/a b");
	assert_int_equal(m.v[1].prot, MAP_R | MAP_W | MAP_SHARED_BIT);
	assert_string_equal(m.v[1].path, "");
	assert_int_equal(m.v[2].end, 0xffffffffff601000);
}

static void test_odd_paths(void **state)
{
	_cleanup_(maps_fini) struct maps m = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(parse(&m,
			       "1000-2000 r-xp 00000000 fe:00 1 /x/new\\012line\n"
			       "2000-3000 r-xp 00000000 fe:00 1 /x/gone (deleted)\n"
			       "3000-4000 r-xp 00000000 fe:00 1 /x/1000-2000 r-xp 0 0:0 1 /y\n"
			       "4000-5000 rw-p 00000000 00:00 0 [anon: odd name]",
			       &err),
			 0);
	assert_int_equal(m.n, 4);
	assert_string_equal(m.v[0].path, "/x/new\\012line");
	assert_string_equal(m.v[1].path, "/x/gone (deleted)");
	assert_string_equal(m.v[2].path, "/x/1000-2000 r-xp 0 0:0 1 /y");
	assert_string_equal(m.v[3].path, "[anon: odd name]");
}

static void test_refused(void **state)
{
	static const char *const bad[] = {
		"\n",
		"x",
		"1000\n",
		"1000-2000",
		"2000-1000 r-xp 00000000 fe:00 1 /x\n",
		"1000-2000 r?xp 00000000 fe:00 1 /x\n",
		"1000-2000 r-xp 00000000 fe:00\n",
		"1000-2000 r-xp 00000000 fe 00 1 /x\n",
		"1000-11112222333344445555 r-xp 00000000 fe:00 1 /x\n",
		"1000-3000 r-xp 00000000 fe:00 1 /x\n2000-4000 r-xp 00000000 fe:00 1 /x\n",
		"-1000-2000 r-xp 00000000 fe:00 1 /x\n",
	};
	struct maps m = { .n = 77 };
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(&m, bad[i], &err), -1);
		assert_int_equal(err.code, ERR_FAILED);
		assert_int_equal(m.n, 77);
	}
}

static void test_empty(void **state)
{
	_cleanup_(maps_fini) struct maps m = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(parse(&m, "", &err), 0);
	assert_int_equal(m.n, 0);
	assert_null(maps_find(&m, 0));
}

static void test_find(void **state)
{
	_cleanup_(maps_fini) struct maps m = { 0 };
	struct err err;
	int local;

	(void)state;
	assert_int_equal(maps_read(&m, getpid(), &err), 0);
	assert_string_equal(maps_find(&m, (uintptr_t)&local)->path, "[stack]");
	assert_true(maps_find(&m, (uintptr_t)test_find)->prot & MAP_X);
	for (size_t i = 0; i < m.n; i++) {
		assert_ptr_equal(maps_find(&m, m.v[i].start), &m.v[i]);
		assert_ptr_equal(maps_find(&m, m.v[i].end - 1), &m.v[i]);
	}
	assert_null(maps_find(&m, 0));
	assert_null(maps_find(&m, UINT64_MAX));
}

/* Makes as many mappings as allowed: neighbours with different protection cannot be merged. */
static void test_many(void **state)
{
	_cleanup_(maps_fini) struct maps m = { 0 };
	size_t page = (size_t)getpagesize(), made = 0;
	char *area = mmap(NULL, MANY * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct err err;
	int ret;

	(void)state;
	assert_true(area != MAP_FAILED);
	for (size_t i = 0; i < MANY; i += 2)
		made += !mprotect(area + i * page, page, PROT_READ);
	ret = maps_read(&m, getpid(), &err);
	munmap(area, MANY * page);
	assert_int_equal(ret, 0);
	assert_true(m.n > made);
	assert_true(maps_find(&m, (uintptr_t)area)->prot == MAP_R);
}

static void test_gone(void **state)
{
	struct maps m = { 0 };
	struct err err;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	assert_int_equal(maps_read(&m, pid, &err), -1);
	assert_int_equal(err.code, ERR_LOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),	cmocka_unit_test(test_odd_paths),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_empty),
		cmocka_unit_test(test_find),	cmocka_unit_test(test_many),
		cmocka_unit_test(test_gone),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
