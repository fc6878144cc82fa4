// SPDX-License-Identifier: Apache-2.0
/* The folder of the symbol cache: that of a user, since tests must not touch root's. */
#include "symbols/cache.h"

#include "elf/image.h"

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

#define USER 65534

static char home[] = "/tmp/jeprof-ctl-unit.XXXXXX";
static const unsigned char id[IMAGE_BUILD_ID_MAX + 1] = { 0x01, 0xab };

static int setup(void **state)
{
	(void)state;
	if (!getuid() && seteuid(USER))
		return -1;
	if (!mkdtemp(home))
		return -1;
	unsetenv("XDG_CACHE_HOME");
	return setenv("HOME", home, 1);
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", home);
	return seteuid(getuid()) || system(command);
}

static const char *path_of(const char *name)
{
	static char path[sizeof(home) + 128];

	snprintf(path, sizeof(path), "%s/%s", home, name);
	return path;
}

/* Store the text without its last byte. */
static void store(const unsigned char *build_id, size_t len, const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	symbol_cache_store(build_id, len, fd, strlen(text) - 1);
	close(fd);
}

static void expect(const unsigned char *build_id, size_t len, const char *want)
{
	int fd = symbol_cache_open(build_id, len);
	char text[64] = "";

	assert_int_equal(fd >= 0, want != NULL);
	if (!want)
		return;
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	assert_string_equal(text, want);
	close(fd);
}

static void test_stored(void **state)
{
	struct stat st;

	(void)state;
	expect(id, 2, NULL);
	store(id, 2, "onex");
	expect(id, 2, "one");
	store(id, 2, "second");
	expect(id, 2, "secon");
	expect(id, 3, NULL);
	assert_int_equal(stat(path_of(".cache/jeprof-ctl/01ab.symbols"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(path_of(".cache/jeprof-ctl"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	setenv("XDG_CACHE_HOME", path_of("xdg"), 1);
	expect(id, 2, NULL);
	assert_int_equal(mkdir(path_of("xdg"), 0700), 0);
	store(id, IMAGE_BUILD_ID_MAX, "longest");
	expect(id, IMAGE_BUILD_ID_MAX, "longes");
	unsetenv("XDG_CACHE_HOME");
	expect(id, IMAGE_BUILD_ID_MAX, NULL);
}

/* Invalid build IDs, and no usable home directory. */
static void test_nowhere(void **state)
{
	(void)state;
	store(id, 2, "onex");
	for (size_t len = 0; len < 2; len++) {
		store(id, len, "text");
		expect(id, len, NULL);
	}
	store(id, IMAGE_BUILD_ID_MAX + 1, "text");
	expect(id, IMAGE_BUILD_ID_MAX + 1, NULL);
	setenv("HOME", "relative", 1);
	store(id, 2, "text");
	expect(id, 2, NULL);
	unsetenv("HOME");
	expect(id, 2, NULL);
	setenv("HOME", home, 1);
	/* A relative path counts as unset. */
	setenv("XDG_CACHE_HOME", "relative", 1);
	expect(id, 2, "one");
	unsetenv("XDG_CACHE_HOME");
}

/* A folder or file that others can read or write, or that has another type. */
static void test_not_ours(void **state)
{
	static const struct {
		const char *damage, *repair;
	} cases[] = {
		{ "chmod 750 .", "chmod 700 ." },
		{ "chmod 701 .", "chmod 700 ." },
		{ "chmod 640 01ab.symbols", "chmod 600 01ab.symbols" },
		{ "chmod 602 01ab.symbols", "chmod 600 01ab.symbols" },
		{ "mv 01ab.symbols x && ln -s x 01ab.symbols", "mv x 01ab.symbols" },
		{ "mv 01ab.symbols x && mkfifo -m 600 01ab.symbols", "mv x 01ab.symbols" },
		{ "mv 01ab.symbols x && mkdir -m 700 01ab.symbols",
		  "rmdir 01ab.symbols && mv x 01ab.symbols" },
		{ "mv ../jeprof-ctl ../y && ln -s y ../jeprof-ctl",
		  "rm ../jeprof-ctl && mv ../y ../jeprof-ctl" },
	};
	char command[512];

	(void)state;
	store(id, 2, "onex");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *folder = path_of(".cache/jeprof-ctl");

		expect(id, 2, "one");
		snprintf(command, sizeof(command), "cd %s && %s", folder, cases[i].damage);
		assert_int_equal(system(command), 0);
		expect(id, 2, NULL);
		snprintf(command, sizeof(command), "cd %s/../y 2>/dev/null || cd %s; %s", folder,
			 folder, cases[i].repair);
		assert_int_equal(system(command), 0);
	}
	expect(id, 2, "one");
}

/* Create a sparse file in the cache, last used at `used`. */
static void put(const char *name, off_t bytes, time_t used)
{
	const struct timespec times[] = { { .tv_sec = used }, { .tv_sec = used } };
	char path[sizeof(home) + 64];
	int fd;

	snprintf(path, sizeof(path), "%s/.cache/jeprof-ctl/%s", home, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, bytes), 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static bool is_there(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), ".cache/jeprof-ctl/%s", name);
	return !access(path_of(path), F_OK);
}

/*
 * The least recently used files are removed until there is room. Files not of the cache are kept.
 */
static void test_bound(void **state)
{
	const off_t third = SYMBOL_CACHE_BYTES_MAX / 3;

	(void)state;
	store(id, 2, "onex");
	put("0001.symbols", third, 1000);
	put("0002.symbols", third, 3000);
	put("0003.symbols", SYMBOL_CACHE_BYTES_MAX - 2 * third - 3, 2000); /* for "one" */
	put("other", 2 * (off_t)SYMBOL_CACHE_BYTES_MAX, 1);
	put(".symbols", 2 * (off_t)SYMBOL_CACHE_BYTES_MAX, 1);
	store(id, 3, "x"); /* an empty file */
	assert_true(is_there("0001.symbols"));
	put("0001.symbols", third + 1, 1000);
	store(id, 2, "onex");
	assert_false(is_there("0001.symbols"));
	assert_true(is_there("0002.symbols") && is_there("0003.symbols"));
	/* Reading a file counts as use. */
	put("0003.symbols", third, 2000);
	put("0004.symbols", third + 10, 2500);
	close(symbol_cache_open((const unsigned char *)"\0\3", 2));
	store(id, 2, "onex");
	assert_true(is_there("0002.symbols") && is_there("0003.symbols"));
	assert_false(is_there("0004.symbols"));
	assert_true(is_there("other") && is_there(".symbols"));
	expect(id, 2, "one");
	/* The latest file is kept, whatever its size. */
	put("0005.symbols", 2 * (off_t)SYMBOL_CACHE_BYTES_MAX, 4000000000);
	store(id, 3, "x");
	assert_true(is_there("0005.symbols"));
	assert_false(is_there("0002.symbols"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stored),
		cmocka_unit_test(test_nowhere),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_bound),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
