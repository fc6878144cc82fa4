// SPDX-License-Identifier: Apache-2.0
#include "io/received.h"

#include "base/clock.h"
#include "tests/unit/said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static const char text[] = "heap_v2/1\n";
#define LEN (sizeof(text) - 1)

static struct received_rules rules_of(uint64_t max)
{
	return (struct received_rules){ .what = "the file", .max_bytes = max };
}

static int file_of(size_t hole)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, text, LEN, (off_t)hole), LEN);
	return fd;
}

static void test_copy(void **state)
{
	const struct received_rules rules = rules_of(LEN);
	struct err err = ERR_INIT;
	char buf[64];
	uint64_t bytes;
	int fd = file_of(0), to;

	(void)state;
	assert_int_equal(received_copy(fd, &rules, &to, &bytes, &err), 0);
	assert_int_equal(bytes, LEN);
	/* Later changes to the original do not matter. */
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pread(to, buf, sizeof(buf), 0), LEN);
	assert_memory_equal(buf, text, LEN);
	close(to);
	assert_int_equal(received_copy(fd, &rules, &to, &bytes, &err), 0);
	assert_int_equal(bytes, 0);
	close(to);
	close(fd);
}

static void refuses(int fd, uint64_t max, const char *why)
{
	const struct received_rules rules = rules_of(max);
	struct err err = ERR_INIT;
	uint64_t bytes;
	int to = -1;

	assert_int_equal(received_copy(fd, &rules, &to, &bytes, &err), -1);
	assert_int_equal(err.code, ERR_FAILED);
	if (!strstr(said(&err), why))
		fail_msg("'%s' has no '%s'", said(&err), why);
	assert_int_equal(to, -1);
	close(fd);
}

static void test_refused(void **state)
{
	int ends[2];

	(void)state;
	refuses(file_of(0), LEN - 1, "too large");
	refuses(file_of(1 << 20), 1 << 21, "is sparse");
	refuses(file_of((size_t)1 << 60), UINT64_MAX, "is sparse");
	assert_int_equal(pipe(ends), 0);
	close(ends[1]);
	refuses(ends[0], LEN, "not a regular file");
}

static void test_deadline(void **state)
{
	struct received_rules rules = rules_of(LEN);
	struct err err = ERR_INIT;
	uint64_t bytes;
	int fd = file_of(0), to;

	(void)state;
	rules.deadline_ms = now_ms();
	assert_int_equal(received_copy(fd, &rules, &to, &bytes, &err), -1);
	assert_int_equal(err.code, ERR_UNSAFE);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
