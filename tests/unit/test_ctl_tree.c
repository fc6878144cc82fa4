// SPDX-License-Identifier: Apache-2.0
/* A made-up tree in this process's own memory. */
#include "jemalloc/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct node {
	uint64_t named;
	const char *name;
	uint64_t n_children;
	const struct node *children;
	int (*handler)(void);
};

static int handle(void)
{
	return 0;
}

#define LEAF(name)                       \
	{                                \
		1, name, 0, NULL, handle \
	}

static struct node opt[] = { LEAF("abort"), LEAF("prof") };
static struct node numbered[] = { { 0, NULL, 0, NULL, NULL } };
static struct node top[] = {
	LEAF("version"),
	{ 1, "opt", 2, opt, NULL },
	{ 1, "arena", 1, numbered, NULL },
};
static struct node loop[] = { LEAF("version"), { 1, "again", 2, loop, NULL } };

static struct peek memory;
static struct range code;
static struct image image;

static void take_image(void)
{
	uint64_t low = (uint64_t)(uintptr_t)top, high = low;
	const uint64_t all[] = { (uint64_t)(uintptr_t)opt, (uint64_t)(uintptr_t)handle,
				 (uint64_t)(uintptr_t)top[0].name, (uint64_t)(uintptr_t)loop,
				 (uint64_t)(uintptr_t)numbered };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		low = all[i] < low ? all[i] : low;
		high = all[i] > high ? all[i] : high;
	}
	code = (struct range){ (uint64_t)(uintptr_t)handle, (uint64_t)(uintptr_t)handle + 1 };
	image = (struct image){
		.start = low, .end = high + 65536, .exec = &code, .n_exec = 1, .elf_class = 2
	};
	peek_init(&memory, getpid());
}

static struct ctl_tree tree_of(const struct node *children, uint32_t n)
{
	return (struct ctl_tree){ .image = &image,
				  .memory = &memory,
				  .children = (uint64_t)(uintptr_t)children,
				  .n_children = n };
}

static int count(void *ctx, const char *name, uint64_t handler)
{
	assert_int_equal(handler, (uint64_t)(uintptr_t)handle);
	assert_true(strlen(name) < CTL_NAME_SIZE);
	return ++*(int *)ctx == 100000;
}

static void test_handler(void **state)
{
	struct ctl_tree t = tree_of(top, 3);

	(void)state;
	take_image();
	assert_int_equal(ctl_tree_handler(&t, "version"), (uint64_t)(uintptr_t)handle);
	assert_int_equal(ctl_tree_handler(&t, "opt.prof"), (uint64_t)(uintptr_t)handle);
	assert_int_equal(ctl_tree_handler(&t, "opt"), 0);
	assert_int_equal(ctl_tree_handler(&t, "opt.none"), 0);
	assert_int_equal(ctl_tree_handler(&t, "version.more"), 0);
	assert_int_equal(ctl_tree_handler(&t, ""), 0);
	assert_int_equal(ctl_tree_handler(&t, "arena.0"), 0);
}

static void test_each(void **state)
{
	struct ctl_tree t = tree_of(top, 3);
	int n = 0;

	(void)state;
	take_image();
	assert_int_equal(ctl_tree_each(&t, count, &n), 0);
	assert_int_equal(n, 3);
}

/* Walking a malformed tree terminates. */
static void test_hostile(void **state)
{
	struct ctl_tree t = tree_of(loop, 2);
	int n = 0;

	(void)state;
	take_image();
	assert_int_equal(ctl_tree_each(&t, count, &n), 0);
	assert_true(n > 0 && n < 5000);
	t = tree_of(top, UINT32_MAX);
	n = 0;
	assert_int_equal(ctl_tree_each(&t, count, &n), 0);
	assert_true(n < 5000);
	t = tree_of(NULL, 3);
	assert_int_equal(ctl_tree_handler(&t, "version"), 0);
	/* a handler outside the code, a name outside the image */
	code.end = code.start;
	t = tree_of(top, 3);
	assert_int_equal(ctl_tree_handler(&t, "version"), 0);
	image.end = image.start;
	assert_int_equal(ctl_tree_handler(&t, "version"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handler),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_hostile),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
