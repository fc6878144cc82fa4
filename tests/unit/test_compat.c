// SPDX-License-Identifier: Apache-2.0
#include "front/compat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		uint32_t ms;
	} good[] = {
		{ "1secs", 1000 },     { "5mins", 300000 },	 { "24hrs", 86400000 },
		{ "1days", 86400000 }, { "1000ms", 1000 },	 { "1.5hrs", 5400000 },
		{ "1000000us", 1000 }, { "2500000000ns", 2500 }, { "0.1weeks", 60480000 },
		{ ".5mins", 30000 },   { "5.secs", 5000 },	 { "007secs", 7000 },
	};
	uint32_t ms;
	char why[192];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ms = 0;
		if (!compat_duration(good[i].text, &ms, why, sizeof(why)))
			fail_msg("%s: %s", good[i].text, why);
		assert_int_equal(ms, good[i].ms);
	}
}

#define UNPARSED "Could not parse parameter 'duration': "
#define SUPPORTED \
	"; supported units are 'ns', 'us', 'ms', 'secs', 'mins', 'hrs', 'days', and 'weeks'."
#define BETWEEN " must be between 1secs and 24hrs."

static void test_bad_durations(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", UNPARSED "Invalid duration ''." },
		{ "600", UNPARSED "Invalid duration '600'." },
		{ "5 mins", UNPARSED "Unknown duration unit ' mins'" SUPPORTED },
		{ "5s", UNPARSED "Unknown duration unit 's'" SUPPORTED },
		{ "5minsx", UNPARSED "Unknown duration unit 'minsx'" SUPPORTED },
		{ "secs", UNPARSED "Failed to convert '' to number." },
		{ "-5secs", UNPARSED "Failed to convert '' to number." },
		{ "1.2.3secs", UNPARSED "Failed to convert '1.2.3' to number." },
		{ ".secs", UNPARSED "Failed to convert '.' to number." },
		{ "0secs", "Duration '0ns'" BETWEEN },
		{ "999ms", "Duration '999ms'" BETWEEN },
		{ "0.0005secs", "Duration '500us'" BETWEEN },
		{ "1500us", "Duration '1500us'" BETWEEN },
		{ "25hrs", "Duration '25hrs'" BETWEEN },
		{ "1441mins", "Duration '1.00069444444444days'" BETWEEN },
		{ "2days", "Duration '2days'" BETWEEN },
		{ "8days", "Duration '8days'" BETWEEN },
		{ "2weeks", "Duration '2weeks'" BETWEEN },
	};
	uint32_t ms;
	char why[192];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(compat_duration(bad[i].text, &ms, why, sizeof(why)));
		assert_string_equal(why, bad[i].why);
	}
	assert_false(compat_duration("99999999999999999999999999weeks", &ms, why, sizeof(why)));
	assert_false(compat_duration("9999999999999999999999999999999999999999secs", &ms, why,
				     sizeof(why)));
	assert_true(strlen(why) < sizeof(why));
}

static unsigned int status(enum wire_words words, enum wire_op op, enum err_code code)
{
	return compat_status(words, op, &(struct wire_to_front){ .code = code }, 599);
}

static void test_statuses(void **state)
{
	static const enum err_code usual[] = { ERR_NOPROC, ERR_PERM, ERR_UNSAFE, ERR_LOST };
	const struct wire_to_front refused = { .code = ERR_FAILED, .refusal = WIRE_NOT_ALLOWED };

	(void)state;
	for (enum wire_words w = WIRE_OWN_WORDS; w < WIRE_WORDS; w++) {
		for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
			assert_int_equal(status(w, WIRE_DUMP, usual[i]), 599);
		assert_int_equal(compat_status(w, WIRE_DUMP, &refused, 599), 599);
	}
	assert_int_equal(status(WIRE_OWN_WORDS, WIRE_DUMP, ERR_FAILED), 599);
	assert_int_equal(status(WIRE_MESOS, WIRE_MESOS_START, ERR_BUSY), 409);
	assert_int_equal(status(WIRE_MESOS, WIRE_MESOS_STOP, ERR_BUSY), 400);
	assert_int_equal(status(WIRE_MESOS, WIRE_MESOS_START, ERR_NOJEMALLOC), 400);
	assert_int_equal(status(WIRE_MTEV, WIRE_DUMP, ERR_NOJEMALLOC), 500);
	assert_int_equal(status(WIRE_MTEV, WIRE_DUMP, ERR_USAGE), 500);
	assert_int_equal(status(WIRE_TIKV, WIRE_RUN_PROFILE, ERR_USAGE), 400);
	assert_int_equal(status(WIRE_TIKV, WIRE_ACTIVATE, ERR_BUSY), 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_bad_durations),
		cmocka_unit_test(test_statuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
