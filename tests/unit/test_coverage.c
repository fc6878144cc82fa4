// SPDX-License-Identifier: Apache-2.0
#include "profile/coverage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The coverage of a dump by jemalloc, with lines added by jeprof-ctl; `facts` may be "". */
static struct profile_coverage coverage_of(const char *counts, const char *facts)
{
	struct profile_coverage c;
	struct profile p;
	struct err err = ERR_INIT;
	char text[512];

	snprintf(text, sizeof(text),
		 "heap_v2/524288\n  t*: %s [0: 0]\n@ 0x1000\n  t*: %s [0: 0]\n"
		 "\nMAPPED_LIBRARIES:\n%s",
		 counts, counts, facts);
	assert_int_equal(profile_parse(&p, text, strlen(text), NULL, &err), 0);
	c = profile_coverage_of(&p);
	profile_fini(&p);
	return c;
}

#define LATE "# allocated 41943040\n# opt.prof_active false\n"

static void test_said(void **state)
{
	struct profile_coverage c = coverage_of("10: 10485760", LATE);
	char text[PROFILE_COVERAGE_SIZE];

	(void)state;
	assert_string_equal(profile_coverage_text(&c, text),
			    "covers 11.6M of 40.0M allocated (28%): the rest was allocated before "
			    "sampling began");
	c = coverage_of("10: 10485760", "# allocated 41943040\n# opt.prof_active true\n");
	assert_non_null(strstr(profile_coverage_text(&c, text), "it was sampled from the start"));
	c = coverage_of("10: 10485760", "# allocated 41943040\n");
	assert_non_null(strstr(profile_coverage_text(&c, text), "or in threads"));
	c = coverage_of("0: 0", LATE);
	assert_string_equal(
		profile_coverage_text(&c, text),
		"covers 0 of 40.0M allocated (0%): the rest was allocated before sampling began");
}

static void test_not_said(void **state)
{
	static const struct {
		const char *counts, *facts;
	} rows[] = {
		{ "10: 10485760", "" },				    /* not known */
		{ "10: 10485760", LATE "# counts alloc_space\n" },  /* not memory in use */
		{ "29: 30408704", LATE },			    /* within the error */
		{ "80: 83886080", LATE },			    /* more than allocated */
		{ "1: 1048576", "# allocated 2000000\n" },	    /* too little to matter */
		{ "1000: 1048576000", "# allocated 1250000000\n" }, /* 3 % */
		{ "10: 10485760", "# allocated 0\n" },
	};
	char text[PROFILE_COVERAGE_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct profile_coverage c = coverage_of(rows[i].counts, rows[i].facts);

		assert_null(profile_coverage_text(&c, text));
	}
}

/* 2,000 samples of 64 bytes: jemalloc used 16 KiB for each, which the program did not request. */
static void test_promoted(void **state)
{
	struct profile_coverage c = coverage_of("2000: 128000", "# allocated 1100000000\n");
	char text[PROFILE_COVERAGE_SIZE];

	(void)state;
	assert_true(c.allocated == 1100000000 - 2000.0 * 16384 + 128000);
	assert_true(c.in_use > 1000000000);
	assert_null(profile_coverage_text(&c, text));
	/* Without subtracting that, the difference would be reported. */
	c.allocated = 1200000000;
	assert_non_null(strstr(profile_coverage_text(&c, text), "sampling began, or in"));
	assert_null(strstr(text, "takes"));
	c.allocated = 400000000;
	c.in_use = 10000000;
	c.variance = 0;
	assert_non_null(
		strstr(profile_coverage_text(&c, text), "; sampling itself takes 31.1M more"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_said),
		cmocka_unit_test(test_not_said),
		cmocka_unit_test(test_promoted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
