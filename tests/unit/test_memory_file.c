// SPDX-License-Identifier: Apache-2.0
#include "io/memory_file.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define MUCH (1u << 20)

static int write_much(FILE *out, const void *ctx, struct err *err)
{
	(void)ctx;
	(void)err;
	for (unsigned int i = 0; i < MUCH; i++)
		fputc((int)('a' + i % 26), out);
	return 0;
}

static void test_whole(void **state)
{
	struct err err = ERR_INIT;
	uint64_t bytes = 0;
	char *text = NULL;
	int fd = -1;

	(void)state;
	assert_int_equal(memory_file_write(write_much, NULL, &fd, &bytes, &err), 0);
	assert_int_equal(bytes, MUCH);
	assert_int_equal(memory_file_read(fd, bytes, &text, &err), 0);
	for (unsigned int i = 0; i < MUCH; i++)
		assert_int_equal(text[i], 'a' + i % 26);
	free(text);
	close(fd);
}

static int write_nothing(FILE *out, const void *ctx, struct err *err)
{
	(void)out;
	(void)ctx;
	return err_raise(err, ERROR_NO_RESULT);
}

static void test_writer_fails(void **state)
{
	struct err err = ERR_INIT;
	uint64_t bytes = 0;
	int fd = -1;

	(void)state;
	assert_int_equal(memory_file_write(write_nothing, NULL, &fd, &bytes, &err), -1);
	assert_int_equal(err.ids[0], ERROR_NO_RESULT);
	assert_int_equal(fd, -1);
}

/* A chunk in the middle is lost, but the last one is not. */
static int write_with_a_gap(FILE *out, const void *ctx, struct err *err)
{
	const struct rlimit *usual = ctx;
	const struct rlimit none = { 0, usual->rlim_max };

	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	write_much(out, NULL, err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, usual), 0);
	return write_much(out, NULL, err);
}

static void test_gap(void **state)
{
	struct err err = ERR_INIT;
	struct rlimit usual;
	uint64_t bytes = 0;
	int fd = -1;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
	assert_int_equal(memory_file_write(write_with_a_gap, &usual, &fd, &bytes, &err), -1);
	assert_int_equal(err.ids[0], ERROR_MEMORY_FILE_UNFILLED);
	assert_int_equal(fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_writer_fails),
		cmocka_unit_test(test_gap),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
