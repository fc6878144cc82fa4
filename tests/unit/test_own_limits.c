// SPDX-License-Identifier: Apache-2.0
#include "base/own_limits.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int oom_score(void)
{
	FILE *f = fopen("/proc/self/oom_score_adj", "re");
	int score = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &score) != 1)
		score = -1;
	fclose(f);
	return score;
}

static int try_in_child(int before)
{
	own_limits_take_back();
	if (oom_score() != before)
		return 1; /* changed although it was not asked for */
	own_limits_die_first();
	if (oom_score() != 1000)
		return 2;
	own_limits_lend();
	if (oom_score() != before)
		return 3;
	own_limits_take_back();
	return oom_score() != 1000 ? 4 : 0;
}

/* The kernel ends us first, but no program that we start. */
static void test_oom_score(void **state)
{
	int before = oom_score(), status;
	pid_t child;

	(void)state;
	assert_in_range(before, 0, 999);
	child = fork();
	if (!child)
		_exit(try_in_child(before));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(oom_score(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_oom_score),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
