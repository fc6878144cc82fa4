// SPDX-License-Identifier: Apache-2.0
#include "base/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct unpack reading(const struct pack *p)
{
	return (struct unpack){ p->v, p->v + p->len, false };
}

static void test_round_trip(void **state)
{
	static const unsigned char bytes[3] = { 1, 2, 3 };
	unsigned char back[3];
	struct pack p = { 0 };
	struct unpack u;
	char text[8], *copy;

	(void)state;
	pack_u64(&p, UINT64_MAX);
	pack_text(&p, "seven");
	pack_text(&p, "");
	pack_text(&p, NULL);
	pack_text(&p, "copied");
	pack_bytes(&p, bytes, sizeof(bytes));
	assert_false(p.failed);
	u = reading(&p);
	assert_true(unpack_u64(&u) == UINT64_MAX);
	unpack_into(&u, text, sizeof(text));
	assert_string_equal(text, "seven");
	copy = unpack_text(&u, 8);
	assert_string_equal(copy, "");
	free(copy);
	assert_null(unpack_text(&u, 8));
	assert_false(u.bad);
	copy = unpack_text(&u, 8);
	assert_string_equal(copy, "copied");
	free(copy);
	unpack_bytes(&u, back, sizeof(back));
	assert_memory_equal(back, bytes, sizeof(bytes));
	assert_true(unpack_done(&u));
	pack_fini(&p);
}

/* A message that is truncated anywhere is bad, and reads as empty. */
static void test_cut(void **state)
{
	struct pack p = { 0 };
	char text[16], *copy;

	(void)state;
	pack_u64(&p, 5);
	pack_text(&p, "some text");
	for (size_t len = 0; len < p.len; len++) {
		struct unpack u = { p.v, p.v + len, false };

		memset(text, 'x', sizeof(text));
		unpack_u64(&u);
		unpack_into(&u, text, sizeof(text));
		assert_true(u.bad);
		assert_string_equal(text, "");
		assert_false(unpack_done(&u));
		copy = unpack_text(&u, sizeof(text));
		assert_null(copy);
	}
	pack_fini(&p);
}

static void test_lies(void **state)
{
	struct pack p = { 0 };
	struct unpack u;
	char text[8];

	(void)state;
	pack_text(&p, "much too long");
	u = reading(&p);
	unpack_into(&u, text, sizeof(text));
	assert_true(u.bad && !*text);
	u = reading(&p);
	p.v[10] = '\0'; /* in the middle of the text */
	assert_null(unpack_text(&u, 64));
	assert_true(u.bad);
	p.len = 0;
	pack_u64(&p, 1000); /* elements, in a message too short for them */
	u = reading(&p);
	assert_int_equal(unpack_count(&u, 8), 0);
	assert_true(u.bad);
	u = reading(&p);
	assert_true(unpack_max(&u, 999) == 0 && u.bad);
	u = reading(&p);
	assert_true(!unpack_bool(&u) && u.bad);
	u = reading(&p);
	assert_false(unpack_done(&u)); /* there is more data */
	pack_fini(&p);
}

static void test_limit(void **state)
{
	struct pack p = { .max = 12 };

	(void)state;
	pack_u64(&p, 1);
	assert_false(p.failed);
	pack_u64(&p, 2);
	assert_true(p.failed);
	assert_int_equal(p.len, 8);
	pack_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
