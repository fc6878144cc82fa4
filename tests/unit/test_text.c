// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "512K", 512 << 10 },
		{ "1M", 1 << 20 },
		{ "1m", 1 << 20 },
		{ "2GiB", 2ull << 30 },
		{ "3KB", 3 << 10 },
		{ "15E", 15ull << 60 },
		{ "7B", 7 },
		{ "18446744073709551615", UINT64_MAX },
	};
	static const char *const bad[] = { "",
					   "K",
					   "-1",
					   " 1",
					   "1 K",
					   "1X",
					   "1KK",
					   "16E",
					   "1Ki5",
					   "0x10",
					   "18446744073709551616" };
	struct err err;
	uint64_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(text_size_parse(good[i].text, &n, &err), 0);
		assert_int_equal(n, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		n = 77;
		assert_int_equal(text_size_parse(bad[i], &n, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_int_equal(n, 77);
	}
}

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} good[] = {
		{ "30", 30000 },      { "30s", 30000 },
		{ "5m", 300000 },     { "5mins", 300000 },
		{ "1h30m", 5400000 }, { "250ms", 250 },
		{ "0", 0 },	      { "1d", 86400000 },
		{ "1m500ms", 60500 }, { "9223372036854775807ms", INT64_MAX },
	};
	static const char *const bad[] = { "",
					   "s",
					   "5x",
					   "-5s",
					   "1h30q",
					   "5 m",
					   "1.5s",
					   "99999999999999999999",
					   "213503982335d",
					   "18446744073709551615ms",
					   "9223372036854775808ms" };
	struct err err;
	uint64_t ms;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(text_duration_parse(good[i].text, &ms, &err), 0);
		assert_int_equal(ms, good[i].ms);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(text_duration_parse(bad[i], &ms, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
}

static void test_integers(void **state)
{
	static const char *const bad[] = { "", "5", "-3", " 1", "1x", "99999999999999999999" };
	struct err err;
	int64_t n;

	(void)state;
	assert_int_equal(text_int_parse("-2", -2, 4, &n, &err), 0);
	assert_int_equal(n, -2);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(text_int_parse(bad[i], -2, 4, &n, &err), -1);
}

static void test_readable_sizes(void **state)
{
	char buf[16];

	(void)state;
	assert_string_equal(text_size(1023, buf, sizeof(buf)), "1023");
	assert_string_equal(text_size(1536, buf, sizeof(buf)), "1.5K");
	assert_string_equal(text_size(102348, buf, sizeof(buf)), "99.9K");
	assert_string_equal(text_size(102399, buf, sizeof(buf)), "100K");
	assert_string_equal(text_size((1 << 20) - 1024, buf, sizeof(buf)), "1023K");
	assert_string_equal(text_size((1 << 20) - 1, buf, sizeof(buf)), "1.0M");
	assert_string_equal(text_size(512 << 10, buf, sizeof(buf)), "512K");
	assert_true(strlen(text_size(UINT64_MAX, buf, sizeof(buf))) < sizeof(buf));
}

/* Names come from other processes: no control characters may reach the terminal. */
static void test_safe(void **state)
{
	static const struct {
		const char *raw, *safe;
	} cases[] = {
		{ "plain name", "plain name" },
		{ "caf\xc3\xa9", "caf\xc3\xa9" },
		{ "a\nb\x1b[31m", "a\\x0ab\\x1b[31m" },
		{ "\x7f\xc2\x9b", "\\x7f\\xc2\\x9b" }, /* DEL, C1's CSI */
		{ "\xff\xc3", "\\xff\\xc3" },	       /* invalid, truncated UTF-8 */
		{ "\xc0\xaf", "\\xc0\\xaf" },	       /* overlong */
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" }, /* surrogate */
		{ "\xe2\x80\xae", "\\xe2\\x80\\xae" }, /* right-to-left override */
	};
	char buf[64], small[6];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(output_safe(cases[i].raw, buf, sizeof(buf)), cases[i].safe);
	assert_string_equal(output_safe("abcd\xc3\xa9", small, sizeof(small)), "abcd");
	assert_string_equal(output_safe("ab\n", small, sizeof(small)), "ab");
}

/* Compared with memmem(3), for needles at every position and of every length. */
static void test_search(void **state)
{
	static const char bytes[] = "a\0bab\0\0abba\0b<je>ab";
	const size_t len = sizeof(bytes) - 1;

	(void)state;
	for (size_t from = 0; from < len; from++)
		for (size_t n = 1; from + n <= len; n++) {
			const char *want = memmem(bytes, len, bytes + from, n);
			const char *rest = bytes + from;
			size_t zeros = 0;

			while (zeros < n && !rest[zeros])
				zeros++;
			assert_ptr_equal(text_search(bytes, len, bytes + from, n),
					 zeros == n ? NULL : want);
		}
	assert_null(text_search(bytes, len, "abc", 3));
	assert_null(text_search(bytes, 3, "bab", 3));
	assert_null(text_search(bytes, 0, "a", 1));
	assert_null(text_search("", 0, "ab", 2));
}

static void test_distance(void **state)
{
	char long_name[TEXT_DISTANCE_MAX + 2];

	(void)state;
	assert_int_equal(text_distance("", ""), 0);
	assert_int_equal(text_distance("dump", "dump"), 0);
	assert_int_equal(text_distance("dmup", "dump"), 1);
	assert_int_equal(text_distance("kitten", "sitting"), 3);
	assert_int_equal(text_distance("", "abc"), 3);
	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_int_equal(text_distance(long_name, "a"), INT_MAX);
	assert_int_equal(text_distance("a", long_name), INT_MAX);
	assert_int_equal(text_distance(long_name + 1, "a"), TEXT_DISTANCE_MAX - 1);
}

static void test_stem(void **state)
{
	(void)state;
	assert_int_equal(text_stem("a/b.heap", ".heap"), 3);
	assert_int_equal(text_stem("a.heap.gz", ".heap"), 9);
	assert_int_equal(text_stem(".heap", ".heap"), 5);
	assert_int_equal(text_stem("", ".heap"), 0);
}

static void test_safe_lines(void **state)
{
	static const char text[] = "a\tb\n\0\033\302\233\342\200\256\303\251\342\202\254\377z";
	static const char safe[] = "a\tb\n\\x00\\x1b\\xc2\\x9b\\xe2\\x80\\xae"
				   "\303\251\342\202\254\\xffz";
	const size_t len = sizeof(text) - 1;
	char piece[16], buf[OUTPUT_SAFE_SIZE(sizeof(text))];

	(void)state;
	/* The result is the same, however the text is split. */
	for (size_t size = 4; size < sizeof(piece); size++) {
		size_t out = 0, n;

		for (size_t at = 0; at < len;) {
			size_t want = len - at < size ? len - at : size;

			memcpy(piece, text + at, want);
			piece[want] = '\0';
			at += output_safe_lines(piece, want, at + want == len, buf + out, &n);
			out += n;
		}
		assert_int_equal(out, sizeof(safe) - 1);
		assert_memory_equal(buf, safe, out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),	 cmocka_unit_test(test_durations),
		cmocka_unit_test(test_integers), cmocka_unit_test(test_readable_sizes),
		cmocka_unit_test(test_safe),	 cmocka_unit_test(test_safe_lines),
		cmocka_unit_test(test_search),	 cmocka_unit_test(test_distance),
		cmocka_unit_test(test_stem),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
