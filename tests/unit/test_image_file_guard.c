// SPDX-License-Identifier: Apache-2.0
#include "elf/image.h"
#include "elf/image_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/*
 * Memory that libelf had allocated when it was interrupted is leaked. LeakSanitizer calls this
 * function to learn that the leak is known.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libelf.so";
}

#define TEMPLATE "/tmp/jeprof-ctl-guard.XXXXXX"
static char path[] = TEMPLATE;

/* A copy of a real library, large enough to be in the page cache and not in a buffer. */
static int copy_libc(void **state)
{
	char command[256];
	int fd = mkstemp(strcpy(path, TEMPLATE));

	(void)state;
	close(fd);
	snprintf(command, sizeof(command),
		 "cp \"$(ldd /bin/sh | sed -n 's/.*=> \\(.*libc[^ ]*\\) .*/\\1/p')\" %s", path);
	return system(command);
}

static int remove_copy(void **state)
{
	(void)state;
	return unlink(path);
}

static void touch(void *ctx)
{
	volatile char *c = ctx;

	(void)*c;
}

static void touch_nested(void *ctx)
{
	assert_true(image_guard(touch, ctx));
}

static void *map_copy(int prot)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;
	void *p;

	fstat(fd, &st);
	p = mmap(NULL, (size_t)st.st_size, prot, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_true(p != MAP_FAILED);
	return p;
}

static void test_cut_short(void **state)
{
	char *p = map_copy(PROT_READ);

	(void)state;
	assert_true(image_guard(touch, p + 8192));
	assert_true(image_guard(touch_nested, p + 8192));
	assert_int_equal(truncate(path, 4096), 0);
	assert_false(image_guard(touch, p + 8192));
	assert_false(image_guard(touch_nested, p + 8192));
	assert_true(image_guard(touch, p));
}

/* Outside the guard, the disposition of the signal is unchanged. */
static void test_restored(void **state)
{
	struct sigaction before, after;
	char byte = 0;

	(void)state;
	assert_int_equal(sigaction(SIGBUS, NULL, &before), 0);
	assert_true(image_guard(touch, &byte));
	assert_int_equal(sigaction(SIGBUS, NULL, &after), 0);
	assert_true(before.sa_handler == after.sa_handler);
}

static int count(void *ctx, const char *name, const struct symbol *sym)
{
	(void)name, (void)sym;
	++*(int *)ctx;
	return 0;
}

static void test_image_cut_short(void **state)
{
	struct images images = { 0 };
	struct maps maps = { 0 };
	struct image *copy;
	struct err err;
	int symbols = 0, pipes[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (child == 0) {
		map_copy(PROT_READ | PROT_EXEC);
		if (write(pipes[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(pipes[0], &(char){ 0 }, 1), 1);
	assert_int_equal(maps_read(&maps, child, &err), 0);
	assert_int_equal(images_read(&images, child, &maps, &err), 0);
	copy = images_by_name(&images, "jeprof-ctl-guard.");
	assert_non_null(copy);
	image_each_symbol(copy, count, &symbols);
	assert_true(symbols > 1000);
	assert_int_equal(truncate(path, 4096), 0);
	symbols = 0;
	image_each_symbol(copy, count, &symbols);
	assert_true(symbols < 1000);
	assert_int_equal(image_search(copy, 4, "no such bytes in it", 19), 0);
	images_fini(&images);
	maps_fini(&maps);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_cut_short, copy_libc, remove_copy),
		cmocka_unit_test_setup_teardown(test_image_cut_short, copy_libc, remove_copy),
		cmocka_unit_test(test_restored),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
