// SPDX-License-Identifier: Apache-2.0

#include "ops/apart/errand_run.h"

#include <errno.h>
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

#define PATIENCE_MS 20000

static char told[256];
static char folder[64], path[128];

static void keep_words(void *ctx, const struct err *warning)
{
	assert_ptr_equal(ctx, told);
	err_text(warning, told, sizeof(told));
}

/* Run `fn` confined, and serve its requests. */
static int serve(confined_fn *fn, struct output *output, struct unpack *u, struct err *err)
{
	static const char *const inputs[] = { "/etc/hostname", "-" };
	static struct confined c = CONFINED_INIT;
	const struct confined_options options = { .what = "test it", .no_door = true };
	const struct errand_rules rules = {
		.inputs = inputs,
		.n_inputs = 2,
		.base = "/etc/passwd",
		.outputs = output,
		.n_outputs = output != NULL,
		.on_warning = keep_words,
		.ctx = told,
	};

	confined_end(&c);
	assert_int_equal(confined_start(&c, &options, fn, NULL, err), 0);
	return errand_run(&c, &rules, u, NULL, err);
}

/* --- opening --- */

static int errno_of(const char *name)
{
	int fd = errand_open(name), sys = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return sys;
}

static void open_some(void *ctx)
{
	struct pack p = { 0 };

	(void)ctx;
	pack_u64(&p, (uint64_t)errno_of("/etc/hostname"));
	pack_u64(&p, (uint64_t)errno_of("/etc/passwd"));
	pack_u64(&p, (uint64_t)errno_of("/etc/shadow"));
	pack_u64(&p, (uint64_t)errno_of("/etc/../etc/hostname"));
	pack_u64(&p, (uint64_t)errno_of(""));
	errand_done(&p, -1);
	pack_fini(&p);
}

static void test_open(void **state)
{
	static const uint64_t expected[] = { 0, 0, EPERM, EPERM, EPERM };
	struct err err = ERR_INIT;
	struct unpack u;

	(void)state;
	assert_int_equal(serve(open_some, NULL, &u, &err), 0);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(unpack_u64(&u), expected[i]);
	assert_true(unpack_done(&u));
}

static void read_input(void *ctx)
{
	int fd = errand_open("-");
	struct pack p = { 0 };
	char c = 0;

	(void)ctx;
	pack_u64(&p, read(fd, &c, 1) == 1 ? (uint64_t)c : 0);
	pack_u64(&p, write(fd, "x", 1) == 1 ? 0 : (uint64_t)errno);
	errand_done(&p, -1);
	pack_fini(&p);
}

/*
 * Standard input continues at its offset. The child cannot write to it, although this process can.
 */
static void test_input(void **state)
{
	int kept = dup(STDIN_FILENO), fd = memfd_create("input", MFD_CLOEXEC);
	struct err err = ERR_INIT;
	struct unpack u;

	(void)state;
	assert_true(write(fd, "abc", 3) == 3 && lseek(fd, 1, SEEK_SET) == 1);
	assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(serve(read_input, NULL, &u, &err), 0);
	assert_int_equal(unpack_u64(&u), 'b');
	assert_int_equal(unpack_u64(&u), EBADF);
	assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
	close(kept);
	close(fd);
}

/* --- writing --- */

static void write_one(const char *to)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct err err = ERR_INIT;

	if (write(fd, "made\n", 5) == 5 && !errand_write(to, true, fd, 5, &err))
		errand_done(NULL, -1);
	else
		confined_reply(true, &err, NULL, -1);
}

static void write_named(void *ctx)
{
	(void)ctx;
	write_one(path);
}

static void write_other(void *ctx)
{
	(void)ctx;
	write_one("/tmp/jeprof-ctl-test-other");
}

/* Send a request to write, as a compromised child might. */
static void write_file(int fd)
{
	struct pack p = { 0 };
	struct err err = ERR_INIT;
	struct unpack u;

	pack_u64(&p, ERRAND_WRITE);
	pack_text(&p, path);
	confined_reply(false, NULL, &p, fd);
	if (confined_next(&u, NULL) && unpack_err(&u, &err))
		confined_reply(true, &err, NULL, -1);
}

static int ask_file(void)
{
	struct pack p = { 0 };
	struct unpack u;
	int fd = -1;

	pack_u64(&p, ERRAND_FILE);
	confined_reply(false, NULL, &p, -1);
	return confined_next(&u, &fd) ? fd : -1;
}

/* A file that consists of one hole. */
static void write_hole(void *ctx)
{
	(void)ctx;
	if (!ftruncate(ask_file(), 1 << 20))
		write_file(-1);
}

/* A file that the child can still modify later. */
static void write_mapped(void *ctx)
{
	int fd = ask_file();

	(void)ctx;
	if (write(fd, "made\n", 5) == 5 &&
	    mmap(NULL, 5, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED)
		write_file(-1);
}

/* Without requesting a file first. */
static void write_none(void *ctx)
{
	(void)ctx;
	write_file(-1);
}

/* A file that the child made itself. */
static void write_own(void *ctx)
{
	(void)ctx;
	write_file(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

static int write_by(confined_fn *fn, struct err *err)
{
	struct output output = OUTPUT_INIT;
	struct unpack u;
	int ret;

	assert_int_equal(output_open(&output, path, true, err), 0);
	ret = serve(fn, &output, &u, err);
	output_close(&output);
	return ret;
}

static void test_write(void **state)
{
	struct err err = ERR_INIT;
	struct stat st;

	(void)state;
	assert_int_equal(write_by(write_other, &err), -1);
	assert_int_equal(err.ids[0], ERROR_CHILD_MALFORMED);
	assert_int_equal(access("/tmp/jeprof-ctl-test-other", F_OK), -1);
	assert_int_equal(write_by(write_hole, &err), -1);
	assert_int_equal(err.ids[0], ERROR_RECEIVED_SPARSE);
	assert_int_equal(write_by(write_mapped, &err), -1);
	assert_int_equal(err.ids[0], ERROR_MEMORY_FILE_FAILED);
	assert_int_equal(write_by(write_none, &err), -1);
	assert_int_equal(err.ids[0], ERROR_NO_RESULT);
	assert_int_equal(write_by(write_own, &err), -1);
	assert_int_equal(err.sys, EBADMSG);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(write_by(write_named, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 5);
	unlink(path);
}

/* --- warnings, and malformed requests --- */

static void warn(void *ctx)
{
	struct err warning;

	(void)ctx;
	err_raise(&warning, ERROR_DEBUG_DATA_SPLIT, .path = "a \033[31mred\033[0m path");
	errand_warn(NULL, &warning);
	errand_done(NULL, -1);
}

static void draw_nothing(void *ctx)
{
	struct err err = ERR_INIT;
	int picture;

	(void)ctx;
	(void)!errand_draw("exe", 0, &picture, &err);
	errand_done(NULL, -1);
}

static void test_others(void **state)
{
	struct err err = ERR_INIT;
	struct unpack u;

	(void)state;
	assert_int_equal(serve(warn, NULL, &u, &err), 0);
	assert_non_null(strstr(told, "the debug data of a \\x1b[31mred\\x1b[0m path is split"));
	assert_int_equal(serve(draw_nothing, NULL, &u, &err), -1);
	assert_int_equal(err.ids[0], ERROR_CHILD_MALFORMED);
}

/* --- places --- */

static bool unpacks(const struct errand_places *places)
{
	struct errand_asked a = { .offsets = NULL };
	struct pack p = { 0 };
	struct unpack u;
	bool good;

	errand_pack_places(&p, places);
	u = (struct unpack){ p.v, p.v + p.len, false };
	good = errand_unpack_places(&u, &a);
	if (good) {
		assert_string_equal(a.p.path, places->path);
		assert_int_equal(a.p.n, places->n);
		assert_memory_equal(a.p.offsets, places->offsets, places->n * sizeof(uint64_t));
		assert_memory_equal(a.p.build_id, places->build_id, places->build_id_len);
	}
	errand_asked_fini(&a);
	pack_fini(&p);
	return good;
}

static void test_places(void **state)
{
	static const uint64_t sorted[] = { 1, 2, 900 }, twice[] = { 1, 1 };
	const unsigned char id[] = { 1, 2, 3 };
	struct errand_places p = {
		.path = "/usr/bin/true",
		.build_id = id,
		.build_id_len = 3,
		.offsets = sorted,
		.n = 3,
	};

	(void)state;
	assert_true(unpacks(&p));
	p.path = "usr/bin/true";
	assert_false(unpacks(&p));
	p.path = "/usr/bin/true";
	p.n = 0;
	assert_false(unpacks(&p));
	p.offsets = twice;
	p.n = 2;
	assert_false(unpacks(&p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open),   cmocka_unit_test(test_input),
		cmocka_unit_test(test_write),  cmocka_unit_test(test_others),
		cmocka_unit_test(test_places),
	};
	int failed;

	strcpy(folder, "/tmp/jeprof-ctl-errand.XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/out", folder);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
