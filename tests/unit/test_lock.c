// SPDX-License-Identifier: Apache-2.0
#include "base/private.h"
#include "injector/check.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define USER 54398 /* its folder is in XDG_RUNTIME_DIR, even if root runs this */
static char folder[] = "/tmp/test_lock.XXXXXX";

/* A child that holds the lock until it is killed. */
static pid_t hold(pid_t target)
{
	struct err err = ERR_INIT;
	int ready[2], lock;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		if (lock_target(target, &lock, &err) || lock < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void test_lock(void **state)
{
	pid_t holder = hold(77);
	struct err err = ERR_INIT;
	int lock = -1;

	(void)state;
	assert_int_equal(lock_target(77, &lock, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_int_equal(err.ids[0], ERROR_LOCKED_BY);
	assert_int_equal(err.held.pid, 77);
	assert_int_equal(err.held.other, holder);
	assert_string_equal(err.held.other_comm, "test_lock");
	assert_int_equal(lock, -1);
	assert_int_equal(lock_target(78, &lock, &err), 0);
	assert_true(lock >= 0);
	close(lock);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	assert_int_equal(lock_target(77, &lock, &err), 0);
	assert_true(lock >= 0);
	close(lock);
}

static void test_without(void **state)
{
	struct err err = ERR_INIT;
	int lock = 0;

	(void)state;
	setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
	assert_int_equal(lock_target(77, &lock, &err), 0);
	assert_int_equal(lock, -1);
	assert_int_equal(err.ids[0], ERROR_UNLOCKED);
	assert_int_equal(err.sys, ENOENT);
	setenv("XDG_RUNTIME_DIR", folder, 1);
}

static void test_private(void **state)
{
	char path[256];
	int fd;

	(void)state;
	private_path(path, sizeof(path));
	assert_int_equal(strncmp(path, folder, strlen(folder)), 0);
	fd = private_open(true);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(private_open(true), -1);
	assert_int_equal(chmod(path, 0700), 0);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder) ||
	    (!geteuid() && (chown(folder, USER, USER) || setegid(USER) || seteuid(USER))))
		return -1;
	return setenv("XDG_RUNTIME_DIR", folder, 1);
}

static int tear_down(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/jeprof-ctl/lock", folder);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	return !getuid() && (seteuid(0) || setegid(0)) ? -1 : rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_private),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_without),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
