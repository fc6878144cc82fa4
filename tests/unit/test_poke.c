// SPDX-License-Identifier: Apache-2.0
#include "injector/injector.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_MS 20000

/* A child has its own copy of these, and of everything mapped here. */
static volatile unsigned char flags[4] = { 0, 1, 2, 255 };

struct child {
	pid_t pid;
	int mem;
	int go; /* a byte makes the child exec /bin/cat, which waits for more */
};

static struct child start(void)
{
	struct child c;
	char path[64];
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (c.pid == 0) {
		char byte;

		close(pipes[1]);
		if (read(pipes[0], &byte, 1) == 1) {
			dup2(pipes[0], STDIN_FILENO);
			execl("/bin/cat", "cat", NULL);
		}
		_exit(0);
	}
	close(pipes[0]);
	c.go = pipes[1];
	snprintf(path, sizeof(path), "/proc/%d/mem", c.pid);
	c.mem = open(path, O_RDWR | O_CLOEXEC);
	assert_true(c.mem >= 0);
	return c;
}

static void end(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->mem);
	close(c->go);
}

static unsigned char byte_of(const struct child *c, size_t i)
{
	unsigned char byte = 77;

	assert_int_equal(pread(c->mem, &byte, 1, (off_t)(uintptr_t)&flags[i]), 1);
	return byte;
}

static int poke(const struct child *c, size_t i, bool want, bool *before, bool *after,
		struct err *err)
{
	return injector_poke(c->mem, (uint64_t)(uintptr_t)&flags[i], want, PATIENCE_MS, before,
			     after, err);
}

static void test_flags(void **state)
{
	struct child c = start();
	struct err err = ERR_INIT;
	bool before, after;

	(void)state;
	assert_int_equal(poke(&c, 0, true, &before, &after, &err), 0);
	assert_true(!before && after && byte_of(&c, 0) == 1);
	assert_int_equal(poke(&c, 0, true, &before, &after, &err), 0);
	assert_true(before && after && byte_of(&c, 0) == 1);
	assert_int_equal(poke(&c, 1, false, &before, &after, &err), 0);
	assert_true(before && !after && byte_of(&c, 1) == 0);
	/* Its neighbours and our own copy are unchanged. */
	assert_true(byte_of(&c, 2) == 2 && byte_of(&c, 3) == 255 && flags[0] == 0 && flags[1] == 1);
	end(&c);
}

static void test_no_flag(void **state)
{
	struct child c = start();
	struct err err = ERR_INIT;
	bool before = false, after = false;

	(void)state;
	for (size_t i = 2; i < 4; i++) {
		assert_int_equal(poke(&c, i, true, &before, &after, &err), -1);
		assert_int_equal(err.code, ERR_UNSAFE);
	}
	assert_true(byte_of(&c, 2) == 2 && byte_of(&c, 3) == 255);
	assert_int_equal(injector_poke(c.mem, 64, true, PATIENCE_MS, &before, &after, &err), -1);
	assert_int_equal(err.code, ERR_FAILED);
	end(&c);
}

/* A process that runs another program by now, or that has ended, is not written to. */
static void test_gone(void **state)
{
	struct child c = start();
	struct err err = ERR_INIT;
	char comm[16] = "", path[64];
	bool before, after;

	(void)state;
	snprintf(path, sizeof(path), "/proc/%d/comm", c.pid);
	assert_int_equal(write(c.go, "x", 1), 1);
	while (strcmp(comm, "cat\n") != 0) {
		FILE *f = fopen(path, "re");

		assert_non_null(f);
		if (!fgets(comm, sizeof(comm), f))
			comm[0] = '\0';
		fclose(f);
	}
	assert_int_equal(poke(&c, 0, true, &before, &after, &err), -1);
	assert_int_equal(err.code, ERR_LOST);
	kill(c.pid, SIGKILL);
	waitpid(c.pid, NULL, 0);
	assert_int_equal(poke(&c, 0, true, &before, &after, &err), -1);
	assert_int_equal(err.code, ERR_LOST);
	close(c.mem);
	close(c.go);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_no_flag),
		cmocka_unit_test(test_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
