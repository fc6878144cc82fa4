// SPDX-License-Identifier: Apache-2.0
#include "front/addresses.h"

#include "wire/wire.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Feed the text in pieces of `piece` bytes. */
static enum addresses_result read_all(struct addresses *a, const char *text, size_t piece)
{
	enum addresses_result result = ADDRESSES_GOOD;
	size_t len = strlen(text);

	*a = (struct addresses)ADDRESSES_INIT;
	for (size_t at = 0; at < len && !result; at += piece)
		result = addresses_add(a, text + at, len - at < piece ? len - at : piece);
	return result ? result : addresses_end(a);
}

static void test_good(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		uint64_t v[3];
	} rows[] = {
		{ "", 0, { 0 } },
		{ "0x0", 1, { 0 } },
		{ "0x1a+0X2B", 2, { 0x1a, 0x2b } },
		{ "0x0000000000000001+0xffffffffffffffff+0x3\r\n", 3, { 1, UINT64_MAX, 3 } },
		{ "0x1\n", 1, { 1 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t piece = 1; piece < 64; piece += 62) {
			struct addresses a;
			uint64_t v[4];

			assert_int_equal(read_all(&a, rows[i].text, piece), ADDRESSES_GOOD);
			assert_int_equal(a.n, rows[i].n);
			assert_int_equal(a.fd >= 0, a.n > 0);
			if (a.n) {
				assert_int_equal(pread(a.fd, v, sizeof(v), 0), 8 * a.n);
				assert_memory_equal(v, rows[i].v, 8 * a.n);
				assert_int_equal(fcntl(a.fd, F_GET_SEALS),
						 F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW |
							 F_SEAL_WRITE);
			}
			addresses_fini(&a);
			assert_int_equal(a.fd, -1);
		}
}

static void test_malformed(void **state)
{
	static const char *const rows[] = {
		"0",
		"0x",
		"1a",
		"x1",
		"0x1+",
		"+0x1",
		"0x1++0x2",
		"0x1 0x2",
		"0x1,0x2",
		"0x1g",
		"0x12345678901234567",
		"0x1\n0x2",
		"0x1\n+0x2",
		"0x1%2B0x2",
		"-0x1",
		"\n",
		"0x-1",
		"0x1+0x",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t piece = 1; piece < 64; piece += 62) {
			struct addresses a;

			if (read_all(&a, rows[i], piece) != ADDRESSES_MALFORMED)
				fail_msg("%s", rows[i]);
			addresses_fini(&a);
		}
}

static void test_many(void **state)
{
	char *text = malloc(4 * (WIRE_ADDRESSES_MAX + 1) + 1), *at = text;
	struct addresses a;

	(void)state;
	for (int i = 0; i < WIRE_ADDRESSES_MAX + 1; i++, at += 4)
		memcpy(at, "0x1+", 4);
	at[-1] = '\0';
	assert_int_equal(read_all(&a, text, 1000), ADDRESSES_MANY);
	addresses_fini(&a);
	at[-5] = '\0';
	assert_int_equal(read_all(&a, text, 1000), ADDRESSES_GOOD);
	assert_int_equal(a.n, WIRE_ADDRESSES_MAX);
	assert_int_equal(lseek(a.fd, 0, SEEK_END), 8 * WIRE_ADDRESSES_MAX);
	addresses_fini(&a);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
