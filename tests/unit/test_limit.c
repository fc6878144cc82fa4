// SPDX-License-Identifier: Apache-2.0
#include "process/limit.h"

#include "process/cgroup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The groups of a process, the innermost first; made up. */
static struct limit inner, outer;

void __wrap_cgroup_each(pid_t pid, const char *controller, cgroup_fn *fn, void *ctx);
void __wrap_cgroup_each(pid_t pid, const char *controller, cgroup_fn *fn, void *ctx)
{
	(void)pid;
	(void)controller;
	fn(ctx, "outer/inner");
	fn(ctx, "outer");
}

bool __wrap_cgroup_number(const char *folder, const char *file, uint64_t *number);
bool __wrap_cgroup_number(const char *folder, const char *file, uint64_t *number)
{
	const struct limit *l = strcmp(folder, "outer") != 0 ? &inner : &outer;

	if (!strcmp(file, "memory.max"))
		*number = l->limit;
	else if (!strcmp(file, "memory.current"))
		*number = l->used;
	else
		return false;
	return l->limit;
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
	/* A limit may be lowered to less than is used. */
	inner.used = 101;
	assert_int_equal(nearest(), 100);
	inner.used = 50;
	outer.used = 1001;
	assert_int_equal(nearest(), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nearest),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
