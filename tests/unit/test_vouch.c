// SPDX-License-Identifier: Apache-2.0
#include "sandbox/vouch.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static bool vouches(const char *path)
{
	_cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);

	return vouch_file(fd, geteuid());
}

static void test_system(void **state)
{
	(void)state;
	assert_true(vouches("/bin/sh"));
	assert_true(vouches("/usr/bin/env"));
	assert_true(vouches("/proc/self/root/usr/bin/env"));
	assert_false(vouches("/etc/passwd"));
	assert_false(vouches("/proc/self/status"));
	assert_false(vouch_file(-1, 0));
}

/* Our own file is rejected, since others may write to /tmp, the parent of its folder. */
static void test_own(void **state)
{
	char folder[] = "/tmp/jeprof-ctl-test.XXXXXX", path[sizeof(folder) + 2];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a", folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_false(vouch_file(fd, geteuid()));
	unlink(path);
	rmdir(folder);
	assert_false(vouch_file(fd, geteuid()));
	close(fd);
}

static void test_served(void **state)
{
	_cleanup_(cleanup_close) int fd = open("/proc", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_false(vouch_is_served(fd));
	assert_true(vouch_is_served(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_system),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_served),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
