// SPDX-License-Identifier: Apache-2.0
/* elf/unwind.c and elf/peek.c: invalid tables, and unmapped memory. */
#include "elf/unwind.h"

#include "elf/peek.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* Readable memory, starting at 0x1000. */
struct memory {
	unsigned char bytes[32];
	size_t len;
};

static bool read_word(void *ctx, uint64_t addr, uint64_t *word)
{
	const struct memory *m = ctx;

	if (addr < 0x1000 || addr - 0x1000 + sizeof(*word) > m->len)
		return false;
	memcpy(word, m->bytes + (addr - 0x1000), sizeof(*word));
	return true;
}

static void test_head(void **state)
{
	static const struct {
		unsigned char encodings[4];
		uint32_t count;
		uint64_t at, size; /* of the header, from the program headers */
		size_t len;	   /* of the memory */
		bool good;
	} cases[] = {
		{ { 1, 0x1b, 3, 0x3b }, 2, 0x1000, 28, 32, true },
		{ { 1, 0x1b, 3, 0x3b }, 2, 0x1000, 27, 32, false },
		{ { 1, 0x1b, 3, 0x3b }, 3, 0x1000, 28, 32, false },
		{ { 1, 0x1b, 3, 0x3b }, UINT32_MAX, 0x1000, 28, 32, false },
		{ { 1, 0x1b, 3, 0x3b }, 0x20000000, 0x1000, 12, 32, false },
		{ { 1, 0x1b, 3, 0x3b }, UINT32_MAX, 0x1000, 0, 32, true }, /* size unknown */
		{ { 1, 0x1b, 3, 0x3b }, 0, 0x1000, 12, 32, true },
		{ { 2, 0x1b, 3, 0x3b }, 2, 0x1000, 28, 32, false },
		{ { 1, 0xff, 3, 0x3b }, 2, 0x1000, 28, 32, false },
		{ { 1, 0x1b, 0xff, 0xff }, 2, 0x1000, 28, 32, false },
		{ { 1, 0x1b, 3, 0x3b }, 2, 0, 28, 32, false },
		{ { 1, 0x1b, 3, 0x3b }, 2, 0xff8, 28, 32, false },
		{ { 1, 0x1b, 3, 0x3b }, 2, 0x1000, 28, 12, false },
		{ { 1, 0x1b, 3, 0x3b }, 2, UINT64_MAX - 3, 28, 32, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct image img = { .start = 0x100,
				     .end = 0x2000,
				     .eh_frame_hdr = cases[i].at,
				     .eh_frame_hdr_size = cases[i].size };
		struct unwind_table_place place = { .n_entries = 77 };
		struct memory m = { .len = cases[i].len };
		bool got;

		memcpy(m.bytes, cases[i].encodings, 4);
		memcpy(m.bytes + 8, &cases[i].count, 4);
		got = unwind_table_of(&img, read_word, &m, &place);
		if (got != cases[i].good)
			fail_msg("case %zu", i);
		assert_int_equal(place.n_entries, got ? cases[i].count : 77);
		if (got) {
			assert_int_equal(place.base, 0x1000);
			assert_int_equal(place.table, 0x100c);
			assert_int_equal(place.start, 0x100);
			assert_int_equal(place.end, 0x2000);
		}
	}
}

static bool no_table(void *ctx, uint64_t ip, struct unwind_table_place *place)
{
	(void)place;
	*(uint64_t *)ctx = ip;
	return false;
}

static bool no_memory(void *ctx, uint64_t addr, uint64_t *word)
{
	(void)ctx, (void)addr, (void)word;
	return false;
}

static int count_frame(void *ctx, uint64_t ip)
{
	(void)ctx;
	return ip == 0x4242 ? 0 : 9;
}

/* In code without a table, only the innermost frame is known. */
static void test_no_table(void **state)
{
	uint64_t asked = 0, start = 7, end = 7;
	struct unwind_source s = { .read = no_memory, .table = no_table, .ctx = &asked };

	(void)state;
	assert_false(unwind_function(&s, 0x4242, &start, &end));
	assert_int_equal(asked, 0x4242);
	assert_int_equal(start + end, 14);
	s.regs[ARCH_DWARF_REGS - 1] = 0x4242;
	assert_int_equal(unwind_walk(&s, count_frame, NULL), -1);
	assert_true(s.guessed);
	s.regs[ARCH_DWARF_REGS - 1] = 0x4243;
	assert_int_equal(unwind_walk(&s, count_frame, NULL), 9);
	unwind_forget();
}

/* A file whose page N is filled with N + 1, truncated to `len` bytes. */
static int code_file(size_t pages, size_t len)
{
	int fd = memfd_create("code", MFD_CLOEXEC);
	unsigned char page[PEEK_PAGE];

	for (size_t i = 0; i < pages; i++) {
		memset(page, (int)i + 1, sizeof(page));
		assert_int_equal(pwrite(fd, page, sizeof(page), (off_t)(i * PEEK_PAGE)),
				 sizeof(page));
	}
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	return fd;
}

/* Reads across pages, beyond the end of the file, and of unmapped addresses. */
static void test_peek(void **state)
{
	int fd = code_file(3, 2 * PEEK_PAGE + 10);
	static struct peek p;
	unsigned char got[2 * PEEK_PAGE];
	char text[8];

	(void)state;
	peek_init(&p, 0);
	peek_code(&p, fd, 0x10000, 0x14000, 0);
	/* A range misaligned with the file and an empty one are ignored: */
	peek_code(&p, fd, 0x20010, 0x21000, 0);
	peek_code(&p, fd, 0x30000, 0x30000, 0);
	assert_int_equal(p.n_code, 1);
	assert_true(peek(&p, 0x10000 + PEEK_PAGE - 1, got, 2));
	assert_memory_equal(got, "\1\2", 2);
	assert_true(peek(&p, 0x10000 + 2 * PEEK_PAGE + 8, got, 4));
	assert_memory_equal(got, "\3\3\0\0", 4);
	assert_int_equal(peek_some(&p, 0x10000 + 2 * PEEK_PAGE, got, sizeof(got)), PEEK_PAGE);
	assert_false(peek(&p, 0x10000 + 3 * PEEK_PAGE, got, 1));
	assert_int_equal(peek_some(&p, 0, got, 1), 0);
	assert_int_equal(peek_some(&p, UINT64_MAX - 1, got, 8), 0);
	/* A string must be terminated within the limit. */
	assert_true(peek_string(&p, 0x10000 + 2 * PEEK_PAGE + 5, text, sizeof(text)));
	assert_string_equal(text, "\3\3\3\3\3");
	assert_false(peek_string(&p, 0x10000 + 2 * PEEK_PAGE, text, sizeof(text)));
	/* Other pages of the file are not read outside the mapped part. */
	peek_init(&p, 0);
	peek_code(&p, fd, 0x10000 + PEEK_PAGE, 0x10000 + 2 * PEEK_PAGE, PEEK_PAGE);
	assert_true(peek(&p, 0x10000 + PEEK_PAGE, got, 1));
	assert_int_equal(*got, 2);
	assert_false(peek(&p, 0x10000, got, 1));
	assert_false(peek(&p, 0x10000 + 2 * PEEK_PAGE, got, 1));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_no_table),
		cmocka_unit_test(test_peek),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
