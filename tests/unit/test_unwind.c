// SPDX-License-Identifier: Apache-2.0
#include "injector/callsite.h"

#include "elf/image.h"
#include "elf/unwind.h"
#include "process/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void *read_self(uint64_t addr, size_t len)
{
	void *bytes = malloc(len);
	struct err err;

	assert_non_null(bytes);
	assert_int_equal(proc_read(getpid(), addr, bytes, len, &err), 0);
	return bytes;
}

/* The C library has a table made by its linker: ours must be identical. */
static void test_as_the_linker(void **state)
{
	struct images images = { 0 };
	struct unwind_table t;
	struct maps maps = { 0 };
	struct range where;
	struct image *libc;
	unsigned char *bytes;
	struct err err;
	int32_t *hdr;
	uint32_t n;

	(void)state;
	assert_int_equal(maps_read(&maps, getpid(), &err), 0);
	assert_int_equal(images_read(&images, getpid(), &maps, &err), 0);
	libc = images_by_name(&images, "libc.so.6");
	assert_non_null(libc);
	assert_true(image_section(libc, ".eh_frame", &where));
	assert_false(image_section(libc, ".no_such_section", &(struct range){ 0 }));
	bytes = read_self(where.start, where.end - where.start);
	hdr = read_self(libc->eh_frame_hdr, libc->eh_frame_hdr_size);
	unwind_table_make(&t, bytes, where.end - where.start, where.start);
	n = (uint32_t)hdr[2];
	assert_true(n > 1000);
	assert_int_equal(t.n, n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(t.base + (uint64_t)(int64_t)t.v[i].start,
				 libc->eh_frame_hdr + (uint64_t)(int64_t)hdr[3 + 2 * i]);
		assert_int_equal(t.base + (uint64_t)(int64_t)t.v[i].fde,
				 libc->eh_frame_hdr + (uint64_t)(int64_t)hdr[4 + 2 * i]);
	}
	unwind_table_fini(&t);
	free(hdr);
	free(bytes);
	images_fini(&images);
	maps_fini(&maps);
}

/* Truncated or modified bytes: nothing outside is read, and no entry points outside. */
static void test_broken(void **state)
{
	/* a CIE "zR" with sdata4 pcrel, and an FDE of it */
	static const unsigned char good[] = {
		0x10, 0,    0,	  0, 0, 0,    0, 0, 1, 'z',  'R', 0, 1, 0x78, 0x10,
		1,    0x1b, 0,	  0, 0, 0x10, 0, 0, 0, 0x18, 0,	  0, 0, 0,    1,
		0,    0,    0x20, 0, 0, 0,    0, 0, 0, 0,    0,	  0, 0, 0,
	};
	unsigned char *bytes;
	struct unwind_table t;

	(void)state;
	unwind_table_make(&t, good, sizeof(good), 0x1000);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.v[0].fde, 20);
	assert_int_equal(t.v[0].start, 28 + 0x100);
	unwind_table_fini(&t);
	for (size_t len = 0; len < sizeof(good); len++) {
		bytes = malloc(len ? len : 1); /* exact size, for the sanitizer */
		memcpy(bytes, good, len);
		unwind_table_make(&t, bytes, len, 0x1000);
		assert_true(t.n <= 1);
		unwind_table_fini(&t);
		for (size_t at = 0; at < len; at++) {
			memcpy(bytes, good, len);
			bytes[at] ^= 0xff;
			unwind_table_make(&t, bytes, len, 0x1000);
			unwind_table_fini(&t);
		}
		free(bytes);
	}
}

/* A table of one function, followed by a megabyte of the same byte. */
struct memory {
	unsigned char bytes[57];
	unsigned char behind;
	size_t n_read;
};

static bool read_memory(void *ctx, uint64_t addr, uint64_t *word)
{
	struct memory *m = ctx;
	unsigned char bytes[sizeof(*word)];

	m->n_read++;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = addr + i < sizeof(m->bytes) ? m->bytes[addr + i] : m->behind;
	memcpy(word, bytes, sizeof(bytes));
	return addr < 1 << 20;
}

static bool table_of_memory(void *ctx, uint64_t ip, struct unwind_table_place *place)
{
	(void)ctx;
	(void)ip;
	*place = (struct unwind_table_place){ .end = 0x2000, .table = 8, .n_entries = 1 };
	return true;
}

/* The start and end of a function. An unterminated number is not read without limit. */
static void test_function(void **state)
{
	/* at 8 the entry, at 16 a CIE "zR" with absolute udata4, at 40 the FDE of 0x100 to 0x120 */
	struct memory m = {
		.bytes = { [9] = 1,
			   [12] = 40,
			   [16] = 0x14,
			   [24] = 1,
			   [25] = 'z',
			   [26] = 'R',
			   [28] = 1,
			   [29] = 0x78,
			   [30] = 0x10,
			   [31] = 1,
			   [32] = 3,
			   [40] = 0x10,
			   [44] = 28,
			   [49] = 1,
			   [52] = 0x20 },
	};
	struct unwind_source s = { .read = read_memory, .table = table_of_memory, .ctx = &m };
	uint64_t start, end;

	(void)state;
	assert_true(unwind_function(&s, 0x110, &start, &end));
	assert_int_equal(start, 0x100);
	assert_int_equal(end, 0x120);
	assert_false(unwind_function(&s, 0x120, &start, &end));
	m.bytes[56] = m.behind = 0x80; /* the length of the FDE's augmentation */
	m.n_read = 0;
	assert_false(unwind_function(&s, 0x110, &start, &end));
	assert_in_range(m.n_read, 1, 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_the_linker),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_function),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
