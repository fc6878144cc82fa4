// SPDX-License-Identifier: Apache-2.0
#include "io/memory_file.h"
#include "serve/compat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void check(const char *folded, const char *wanted)
{
	struct err err = ERR_INIT;
	uint64_t bytes;
	int in = -1, out = -1;
	char *text = NULL;

	assert_int_equal(memory_file_make(&in, &err), 0);
	assert_int_equal(memory_file_make(&out, &err), 0);
	assert_int_equal(write(in, folded, strlen(folded)), strlen(folded));
	assert_int_equal(compat_table(in, out, &err), 0);
	assert_int_equal(memory_file_size(out, &bytes, &err), 0);
	assert_int_equal(memory_file_read(out, bytes, &text, &err), 0);
	assert_string_equal(text, wanted);
	free(text);
	close(in);
	close(out);
}

static void test_table(void **state)
{
	(void)state;
	check("", "Total: 0.0 MB\n");
	check("main;work 3145728\nmain 1048576\n", "Total: 4.0 MB\n"
						   "     3.0  75.0%  75.0%      3.0  75.0% work\n"
						   "     1.0  25.0% 100.0%      4.0 100.0% main\n");
	/* A recursive function counts once per stack, and a name may contain spaces. */
	check("f(int, char);g;f(int, char) 2097152\n? 2097152",
	      "Total: 4.0 MB\n"
	      "     2.0  50.0%  50.0%      2.0  50.0% f(int, char)\n"
	      "     2.0  50.0% 100.0%      2.0  50.0% ?\n"
	      "     0.0   0.0% 100.0%      2.0  50.0% g\n");
	/* Malformed lines are harmless. */
	check("main\n\n;; 1\nx 1048576\n", "Total: 1.0 MB\n"
					   "     1.0 100.0% 100.0%      1.0 100.0% x\n"
					   "     0.0   0.0% 100.0%      0.0   0.0% \n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
