// SPDX-License-Identifier: Apache-2.0
#include "ops/until.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

static struct until parsed(const char *text)
{
	struct until u = { 0 };
	struct err err = ERR_INIT;

	if (until_parse(text, &u, &err))
		fail_msg("%s: refused", text);
	return u;
}

static void test_parse(void **state)
{
	struct until u = parsed("rss+500M");

	(void)state;
	assert_true(u.of == UNTIL_RSS && u.growth && !u.percent && !u.within_ms);
	assert_true(u.amount == 500.0 * MIB);
	u = parsed("+10%/min");
	assert_true(u.of == UNTIL_RSS && u.growth && u.percent && u.within_ms == 60000);
	assert_true(u.amount == 10);
	u = parsed("rss+1G/5m");
	assert_true(u.growth && !u.percent && u.within_ms == 300000);
	u = parsed("rss>2G");
	assert_true(!u.growth && !u.percent && u.amount == 2048.0 * MIB);
	u = parsed("rss>80%");
	assert_true(u.of == UNTIL_RSS && !u.growth && u.percent && u.amount == 80);
	u = parsed("growth>25%/10m");
	assert_true(u.of == UNTIL_RSS && u.growth && u.percent && u.within_ms == 600000);
	u = parsed("cgroup>80.5%");
	assert_true(u.of == UNTIL_CGROUP && !u.growth && u.percent && u.amount == 80.5);
	u = parsed("cgroup+64M");
	assert_true(u.of == UNTIL_CGROUP && u.growth && !u.percent);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		enum error id;
	} rows[] = {
		{ "", ERROR_UNTIL_UNKNOWN },
		{ "rss", ERROR_UNTIL_UNKNOWN },
		{ ">1G", ERROR_UNTIL_UNKNOWN },
		{ "swap>1G", ERROR_UNTIL_UNKNOWN },
		{ "rss<1G", ERROR_UNTIL_UNKNOWN },
		{ "growth+5%", ERROR_UNTIL_UNKNOWN },
		{ "growth", ERROR_UNTIL_UNKNOWN },
		{ "rss>1G/min", ERROR_UNTIL_UNKNOWN },
		{ "rss+", ERROR_IN_UNTIL },
		{ "rss+0", ERROR_IN_UNTIL },
		{ "rss+%", ERROR_IN_UNTIL },
		{ "rss+0%", ERROR_IN_UNTIL },
		{ "rss+-5%", ERROR_IN_UNTIL },
		{ "rss+nan%", ERROR_IN_UNTIL },
		{ "rss+inf%", ERROR_IN_UNTIL },
		{ "rss+5x%", ERROR_IN_UNTIL },
		{ "rss+5%/", ERROR_IN_UNTIL },
		{ "rss+5%/0s", ERROR_IN_UNTIL },
		{ "rss+5%/fortnight", ERROR_IN_UNTIL },
		{ "rss+1000000000000000000000000000000000000000000000000000000000000000M",
		  ERROR_UNTIL_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct until u = { 0 };
		struct err err = ERR_INIT;

		assert_int_equal(until_parse(rows[i].text, &u, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_int_equal(err.ids[0], rows[i].id);
		assert_int_equal(u.of, UNTIL_NEVER);
	}
}

static void test_since_the_beginning(void **state)
{
	struct until more = parsed("rss+100M"), part = parsed("rss+10%"),
		     above = parsed("rss>600M");
	struct until_seen a = { 0 }, b = { 0 }, c = { 0 };

	(void)state;
	assert_false(until_reached(&more, &a, 0, 500 * MIB, 0));
	assert_false(until_reached(&more, &a, 1000, 400 * MIB, 0));
	assert_false(until_reached(&more, &a, 2000, 599 * MIB, 0));
	assert_true(until_reached(&more, &a, 3000, 600 * MIB, 0));
	assert_false(until_reached(&part, &b, 0, 500 * MIB, 0));
	assert_false(until_reached(&part, &b, 1000, 549 * MIB, 0));
	assert_true(until_reached(&part, &b, 2000, 550 * MIB, 0));
	assert_false(until_reached(&above, &c, 0, 599 * MIB, 0));
	assert_true(until_reached(&above, &c, 1, 600 * MIB, 0));
}

/*
 * Slow growth does not count. Fast growth is detected before the period has passed. Values from
 * before the period are dropped.
 */
static void test_within(void **state)
{
	struct until u = parsed("rss+10%/min");
	struct until_seen seen = { 0 };
	uint64_t now = 1000000;

	(void)state;
	for (int i = 0; i < 600; i++, now += 1000)
		assert_false(until_reached(&u, &seen, now, (uint64_t)(1000 + i) * MIB, 0));
	assert_false(until_reached(&u, &seen, now, 1600 * MIB, 0));
	assert_true(until_reached(&u, &seen, now + 5000, 1800 * MIB, 0));
	assert_false(until_reached(&u, &seen, now + 120000, 1900 * MIB, 0));
	assert_false(until_reached(&u, &seen, now + 121000, 1700 * MIB, 0));
	assert_true(until_reached(&u, &seen, now + 122000, 1900 * MIB, 0));
}

static void test_cgroup(void **state)
{
	struct until u = parsed("cgroup>80%");
	struct until_seen seen = { 0 };

	(void)state;
	assert_false(until_reached(&u, &seen, 0, 799 * MIB, 1000 * MIB));
	assert_true(until_reached(&u, &seen, 1, 800 * MIB, 1000 * MIB));
	/* Without a limit, a percentage is never reached. */
	assert_false(until_reached(&u, &seen, 2, 800 * MIB, 0));
}

static void test_of_the_limit(void **state)
{
	struct until u = parsed("rss>80%");
	struct until_seen seen = { 0 };

	(void)state;
	assert_true(until_threshold(&u, &seen, 0, 1, 1000 * MIB) == 800.0 * MIB);
	assert_false(until_reached(&u, &seen, 0, 799 * MIB, 1000 * MIB));
	assert_true(until_reached(&u, &seen, 1, 800 * MIB, 1000 * MIB));
	assert_true(isinf(until_threshold(&u, &seen, 2, 800 * MIB, 0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_since_the_beginning),
		cmocka_unit_test(test_within),
		cmocka_unit_test(test_cgroup),
		cmocka_unit_test(test_of_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
