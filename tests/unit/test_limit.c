// SPDX-License-Identifier: Apache-2.0
#include "process/limit.h"

#include "process/cgroup.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The control groups of a process, innermost first; made up. */
static struct limit inner, outer;
static uint64_t high; /* of the inner group; 0: none */

bool __wrap_cgroup_each(pid_t pid, const char *controller, cgroup_fn *fn, void *ctx);
bool __wrap_cgroup_each(pid_t pid, const char *controller, cgroup_fn *fn, void *ctx)
{
	(void)pid;
	(void)controller;
	fn(ctx, "outer/inner");
	fn(ctx, "outer");
	return true;
}

bool __wrap_cgroup_number(const char *folder, const char *file, uint64_t *number);
bool __wrap_cgroup_number(const char *folder, const char *file, uint64_t *number)
{
	const struct limit *l = strcmp(folder, "outer") != 0 ? &inner : &outer;

	if (!strcmp(file, "memory.max"))
		*number = l->limit;
	else if (!strcmp(file, "memory.current"))
		*number = l->used;
	else if (!strcmp(file, "memory.high") && l == &inner)
		return (*number = high);
	else
		return false;
	return *number;
}

static uint64_t nearest(void)
{
	struct limit l = { 0 };

	return limit_of_cgroup(1, &l) ? l.limit : 0;
}

static void test_nearest(void **state)
{
	(void)state;
	assert_int_equal(nearest(), 0);
	inner = (struct limit){ .limit = 100, .used = 50 };
	assert_int_equal(nearest(), 100);
	outer = (struct limit){ .limit = 1000, .used = 960 };
	assert_int_equal(nearest(), 1000);
	/* A limit may be lowered below the current use. */
	inner.used = 101;
	assert_int_equal(nearest(), 100);
	inner.used = 50;
	outer.used = 1001;
	assert_int_equal(nearest(), 1000);
}

bool __wrap_cgroup_keyed(const char *folder, const char *file, const char *key, uint64_t *number);
bool __wrap_cgroup_keyed(const char *folder, const char *file, const char *key, uint64_t *number)
{
	const struct limit *l = strcmp(folder, "outer") != 0 ? &inner : &outer;

	assert_string_equal(file, "memory.stat");
	assert_string_equal(key, "inactive_file");
	*number = l->inactive;
	return true;
}

/* memory.high counts if it is requested, even without memory.max. */
static void test_high(void **state)
{
	char folder[PATH_MAX];
	struct limit l = { 0 };

	(void)state;
	inner = (struct limit){ .limit = 0, .used = 50, .inactive = 20 };
	outer = (struct limit){ .limit = 1000, .used = 60 };
	high = 70;
	assert_int_equal(nearest(), 1000);
	assert_true(limit_of_cgroup_high(1, &l, folder));
	assert_int_equal(l.limit, 70);
	assert_int_equal(limit_working_set(&l), 30);
	assert_string_equal(folder, "outer/inner");
	inner.used = 60;
	assert_true(limit_of_folder(folder, &l));
	assert_int_equal(l.used, 60);
	high = 0;
	assert_true(limit_of_cgroup_high(1, &l, folder));
	assert_string_equal(folder, "outer");
	assert_false(limit_of_folder("outer/inner", &l));
	/* The two are read one after the other, so inactive memory may exceed the use. */
	l = (struct limit){ .limit = 10, .used = 5, .inactive = 6 };
	assert_int_equal(limit_working_set(&l), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_high),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
