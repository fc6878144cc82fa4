// SPDX-License-Identifier: Apache-2.0
#include "base/vec.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int ascending(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int in_direction(const void *a, const void *b, void *ctx)
{
	return *(const int *)ctx * ascending(a, b);
}

static void test_grow(void **state)
{
	_cleanup_(cleanup_free) int *v = NULL;
	size_t room = 0;

	(void)state;
	for (int n = 0; n < 1000; n++) {
		assert_true(vec_grow(v, room, (size_t)n));
		v[n] = n;
	}
	assert_int_equal(room, 1024);
	for (int n = 0; n < 1000; n++)
		assert_int_equal(v[n], n);
	assert_true(vec_room(v, room, 1000, 24));
	assert_int_equal(room, 1024);
	assert_true(vec_room(v, room, 1000, 25));
	assert_int_equal(room, 2048);
}

static void test_sort(void **state)
{
	int v[] = { 3, 1, 2 }, down = -1;

	(void)state;
	vec_sort(v, sizeof(v) / sizeof(*v), ascending);
	assert_memory_equal(v, ((int[]){ 1, 2, 3 }), sizeof(v));
	vec_sort_with(v, sizeof(v) / sizeof(*v), in_direction, &down);
	assert_memory_equal(v, ((int[]){ 3, 2, 1 }), sizeof(v));
}

static void test_find(void **state)
{
	const int v[] = { 1, 3, 5 };

	(void)state;
	assert_ptr_equal(vec_find(&(int){ 3 }, v, sizeof(v) / sizeof(*v), ascending), &v[1]);
	assert_null(vec_find(&(int){ 4 }, v, sizeof(v) / sizeof(*v), ascending));
}

/* The sanitizers report a NULL passed to qsort(3). */
static void test_nothing(void **state)
{
	int *v = NULL, up = 1;
	size_t n = 0;

	(void)state;
	vec_sort(v, n, ascending);
	vec_sort_with(v, n, in_direction, &up);
	assert_null(vec_find(&up, v, n, ascending));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grow),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
