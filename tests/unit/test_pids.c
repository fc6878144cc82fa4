// SPDX-License-Identifier: Apache-2.0
/* Parents and children, as they may be read while they change. */
#include "ops/target/pids.h"

#include "ops/ops.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void is_family(struct pid_tree *tree, pid_t root, const pid_t *wanted, size_t n)
{
	struct err err;
	size_t found;
	pid_t *pids;

	assert_int_equal(pid_tree_family(tree, root, &pids, &found, &err), 0);
	assert_int_equal(found, n);
	assert_memory_equal(pids, wanted, n * sizeof(*wanted));
	free(pids);
}

static void test_family(void **state)
{
	/* 3 and 9 are below 7, through 5; 8's parent pid was reused; 10 and 11 form a cycle. */
	struct pid_node v[] = { { 1, 0, 0, 0 },	   { 3, 5, 30, 0 },  { 5, 7, 20, 0 },
				{ 7, 1, 10, 0 },   { 8, 7, 5, 0 },   { 9, 5, 40, 0 },
				{ 10, 11, 50, 0 }, { 11, 10, 50, 0 } };
	struct pid_tree tree = { v, sizeof(v) / sizeof(*v) };

	(void)state;
	is_family(&tree, 7, (pid_t[]){ 3, 5, 7, 9 }, 4);
	is_family(&tree, 5, (pid_t[]){ 3, 5, 9 }, 3);
	is_family(&tree, 9, (pid_t[]){ 9 }, 1);
	is_family(&tree, 1, (pid_t[]){ 1, 3, 5, 7, 9 }, 5);
	is_family(&tree, 10, (pid_t[]){ 10, 11 }, 2);
	is_family(&tree, 2, NULL, 0);
	assert_int_equal(pid_tree_parent(&tree, 3), 5);
	assert_int_equal(pid_tree_parent(&tree, 8), 0);
	assert_int_equal(pid_tree_parent(&tree, 1), 0);
	assert_int_equal(pid_tree_parent(&tree, 2), 0);
}

/* A long chain of processes whose parents have larger pids takes no longer than any other. */
static void test_line(void **state)
{
	enum { N = 100000 };
	struct pid_node *v = calloc(N, sizeof(*v));
	struct pid_tree tree = { v, N };
	struct err err;
	pid_t *pids;
	size_t n;

	(void)state;
	for (int i = 0; i < N; i++)
		v[i] = (struct pid_node){ i + 1, i + 2, (uint64_t)(N - i), 0 };
	assert_int_equal(pid_tree_family(&tree, N / 2, &pids, &n, &err), 0);
	assert_int_equal(n, N / 2);
	free(pids);
	free(v);
}

static void test_read(void **state)
{
	struct pid_tree tree;
	struct err err;

	(void)state;
	assert_int_equal(pid_tree_read(&tree, &err), 0);
	assert_int_equal(pid_tree_parent(&tree, getpid()), getppid());
	pid_tree_fini(&tree);
}

/* A list that is asked to stop does not continue to the last process. */
static void test_stop(void **state)
{
	struct ops_list_request request = { .stop_fd = open("/dev/null", O_RDONLY | O_CLOEXEC) };
	struct ops_list list = { 0 };
	struct err err = ERR_INIT;

	(void)state;
	assert_true(request.stop_fd >= 0); /* always readable */
	assert_int_equal(ops_list(&request, &list, &err), -1);
	assert_int_equal(err.ids[0], ERROR_INTERRUPTED);
	assert_null(list.v);
	close(request.stop_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_family),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
