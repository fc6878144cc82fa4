// SPDX-License-Identifier: Apache-2.0
#include "injector/memfd.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Calls memfd_hold() on one of our descriptors. */
static int hold(int fd, int *handle)
{
	struct err err = ERR_INIT;
	char path[64];
	dev_t dev;
	int ret;

	assert_int_equal(memfd_device(&dev, &err), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ret = memfd_hold(path, dev, handle, &err);
	assert_true(ret == 0 || err.code == ERR_FAILED);
	return ret;
}

static void test_fresh(void **state)
{
	int fd = memfd_create("fresh", MFD_CLOEXEC), handle = -1, opened = -1;
	struct err err = ERR_INIT;
	char text[8] = "";

	(void)state;
	assert_int_equal(hold(fd, &handle), 0);
	/* The handle refers to the first file, even if its descriptor number is reused. */
	assert_int_equal(write(fd, "first", 5), 5);
	close(fd);
	assert_int_equal(memfd_open(handle, &opened, &err), 0);
	assert_int_equal(read(opened, text, sizeof(text)), 5);
	assert_string_equal(text, "first");
	assert_int_equal(write(opened, "x", 1), -1);
	close(opened);
	close(handle);
}

static void test_others(void **state)
{
	char name[] = "/tmp/test_memfd.XXXXXX";
	int used = memfd_create("used", MFD_CLOEXEC), file = mkstemp(name), pair[2], handle = -1;
	int device = open("/dev/null", O_RDWR | O_CLOEXEC), folder = open("/", O_PATH | O_CLOEXEC);

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	assert_int_equal(write(used, "x", 1), 1);
	assert_int_equal(hold(used, &handle), -1);
	assert_int_equal(hold(file, &handle), -1);
	unlink(name);
	assert_int_equal(hold(file, &handle), -1);
	assert_int_equal(hold(device, &handle), -1);
	assert_int_equal(hold(folder, &handle), -1);
	assert_int_equal(hold(pair[0], &handle), -1);
	assert_int_equal(hold(999, &handle), -1);
	assert_int_equal(handle, -1);
	for (size_t i = 0; i < 2; i++)
		close(pair[i]);
	close(used);
	close(file);
	close(device);
	close(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fresh),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
