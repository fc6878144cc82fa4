// SPDX-License-Identifier: Apache-2.0
/* The facts appended to a profile, when memory runs out. */
#include "ops/target/facts.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static enum { NO_STREAM, NO_ROOM, NO_END } lacks;

static ssize_t write_nothing(void *cookie, const char *bytes, size_t size)
{
	(void)cookie, (void)bytes, (void)size;
	errno = ENOMEM;
	return lacks == NO_ROOM ? 0 : (ssize_t)size;
}

static int end_badly(void *cookie)
{
	(void)cookie;
	errno = ENOMEM;
	return lacks == NO_END ? -1 : 0;
}

/*
 * Replaces the C library's function. As there, the caller must free the text whatever happens to
 * the stream. malloc (or the sanitizer) detects a double free.
 */
FILE *open_memstream(char **text, size_t *len)
{
	const cookie_io_functions_t io = { .write = write_nothing, .close = end_badly };

	*text = NULL;
	if (lacks == NO_STREAM) {
		errno = ENOMEM;
		return NULL;
	}
	*text = malloc(64);
	*len = 0;
	return fopencookie(NULL, "w", io);
}

static void test_no_memory(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct session s = SESSION_INIT;
	struct err err;

	(void)state;
	for (lacks = NO_STREAM; lacks <= NO_END; lacks++) {
		err = (struct err)ERR_INIT;
		assert_int_equal(facts_append(fd, &s, &err), -1);
		assert_int_equal(err.code, ERR_FAILED);
		assert_int_equal(err.ids[0],
				 lacks == NO_STREAM ? ERROR_FACTS_UNWRITTEN : ERROR_NO_MEMORY);
		assert_int_equal(lseek(fd, 0, SEEK_END), 0);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_memory),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
