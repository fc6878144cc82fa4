// SPDX-License-Identifier: Apache-2.0
/* How profile files are recognized: plain, compressed or in a bundle, complete or not. */
#include "ops/profile_file.h"

#include "io/archive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#define ROOM 65536

static const char text[] = "heap_v2/524288\n"
			   "  t*: 3: 300 [0: 0]\n"
			   "@ 0x400100 0x400200\n"
			   "  t*: 3: 300 [0: 0]\n"
			   "\n"
			   "MAPPED_LIBRARIES:\n"
			   "00400000-00500000 r-xp 00000000 08:01 42 /bin/it\n";

struct bytes {
	size_t len;
	char v[ROOM];
};

static void add(struct bytes *b, const void *v, size_t len)
{
	assert_true(len <= ROOM - b->len);
	memcpy(b->v + b->len, v, len);
	b->len += len;
}

/* Adds one gzip member, as gzip(1) writes it. */
static void add_packed(struct bytes *b, const void *v, size_t len)
{
	z_stream z = { .next_in = (Bytef *)v, .avail_in = (uInt)len };

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = (Bytef *)b->v + b->len;
	z.avail_out = (uInt)(ROOM - b->len);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	b->len = ROOM - z.avail_out;
	deflateEnd(&z);
}

static int read_as(const struct bytes *b, size_t len, bool by_fd, struct err *err)
{
	int fd = memfd_create("test", MFD_CLOEXEC), failed;
	struct profile p;
	char path[64];

	assert_true(fd >= 0 && write(fd, b->v, len) == (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*err = (struct err)ERR_INIT;
	failed = by_fd ? profile_file_read_fd(fd, len, NULL, &p, err)
		       : profile_file_read(path, NULL, &p, err);
	close(fd);
	assert_int_equal(failed, err->code ? -1 : 0);
	if (failed)
		return -1;
	assert_int_equal(p.n_stacks, 1);
	assert_true(profile_total(&p, PROFILE_INUSE_OBJECTS) > 0);
	profile_fini(&p);
	return 0;
}

/* A truncated compressed file is an error, not a shorter profile. */
static void refuses_beginnings(const struct bytes *b)
{
	struct err err;

	assert_int_equal(read_as(b, b->len, false, &err), 0);
	for (size_t len = 0; len < b->len; len++)
		assert_int_equal(read_as(b, len, false, &err), -1);
}

static void test_plain(void **state)
{
	struct bytes b = { 0 };
	struct err err;

	(void)state;
	add(&b, text, sizeof(text) - 1);
	assert_int_equal(read_as(&b, b.len, false, &err), 0);
	assert_int_equal(read_as(&b, b.len, true, &err), 0);
	assert_int_equal(read_as(&b, 0, false, &err), -1);
	assert_int_equal(read_as(&b, 4, true, &err), -1);
}

static void test_packed(void **state)
{
	struct bytes b = { 0 };
	struct err err;

	(void)state;
	add_packed(&b, text, sizeof(text) - 1);
	refuses_beginnings(&b);
	/* Profiles from a target are never compressed. */
	assert_int_equal(read_as(&b, b.len, true, &err), -1);
	assert_int_equal(err.ids[0], ERROR_IS_PACKED);
}

/* Concatenated members are one file, as for gzip(1). */
static void test_members(void **state)
{
	const size_t half = sizeof(text) / 2;
	struct bytes b = { 0 };
	struct err err;

	(void)state;
	add_packed(&b, text, 0);
	add_packed(&b, text, half);
	add_packed(&b, "", 0);
	add_packed(&b, text + half, sizeof(text) - 1 - half);
	assert_int_equal(read_as(&b, b.len, false, &err), 0);
	add(&b, "garbage", 7);
	assert_int_equal(read_as(&b, b.len, false, &err), -1);
}

static void test_damaged(void **state)
{
	struct bytes b = { 0 };
	struct err err;

	(void)state;
	add_packed(&b, text, sizeof(text) - 1);
	for (size_t i = 10; i < b.len; i++) {
		b.v[i] ^= 0x10;
		/* Part of the byte before the checksum and the length is padding. */
		assert_int_equal(read_as(&b, b.len, false, &err), i == b.len - 9 ? 0 : -1);
		b.v[i] ^= 0x10;
	}
}

static void test_program(void **state)
{
	struct bytes b = { 0 };
	struct err err;

	(void)state;
	add(&b, "\x7f\x45\x4c\x46\x02\x01\x01", 7);
	for (int by_fd = 0; by_fd < 2; by_fd++) {
		assert_int_equal(read_as(&b, b.len, by_fd, &err), -1);
		assert_int_equal(err.ids[by_fd ? 0 : 1], ERROR_IS_PROGRAM);
	}
}

static void bundle(struct bytes *b, const char *const *names, const char *const *contents, size_t n)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct bundle_out *out = NULL;
	struct err err = ERR_INIT;
	ssize_t len;

	assert_true(fd >= 0);
	assert_int_equal(bundle_out_open(&out, fd, "folder", &err), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(
			bundle_out_add(out, names[i], contents[i], strlen(contents[i]), &err), 0);
	assert_int_equal(bundle_out_finish(out, &err), 0);
	bundle_out_close(&out);
	len = pread(fd, b->v, sizeof(b->v), 0);
	assert_in_range(len, 1, ROOM - 1);
	b->len = (size_t)len;
	close(fd);
}

static void test_bundle(void **state)
{
	static const char *const names[] = { "stats.json", "profile.heap", "profile.raw" };
	static const char *const contents[] = { "{}", "no profile", text };
	struct bytes b = { 0 };
	struct err err;

	(void)state;
	/* The best profile is used, wherever it is in the bundle. */
	bundle(&b, names, contents, 3);
	assert_int_equal(read_as(&b, b.len, false, &err), 0);
	bundle(&b, names, contents, 1);
	assert_int_equal(read_as(&b, b.len, false, &err), -1);
	bundle(&b, names + 2, contents + 2, 1);
	refuses_beginnings(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	cmocka_unit_test(test_packed),
		cmocka_unit_test(test_members), cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_program), cmocka_unit_test(test_bundle),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
