// SPDX-License-Identifier: Apache-2.0
/* Reads the variables of a jemalloc; here they are variables of this program. */
#include "jemalloc/jemalloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static uint8_t on = 1, off, odd = 2;
static int64_t sample = 19, negative = -1, large = 64;

static void test_read(void **state)
{
	const struct proc p = { .pid = getpid(), .mm_pid = getpid() };
	struct jemalloc je = { .opts_sought = true, .prof_active = (uintptr_t)&odd };
	struct jemalloc_values v;

	(void)state;
	je.opt[OPT_PROF] = (uintptr_t)&on;
	je.opt[OPT_PROF_FINAL] = (uintptr_t)&off;
	je.opt[OPT_PROF_LEAK] = (uintptr_t)&odd;
	je.opt[OPT_PROF_ACCUM] = 8; /* nothing is mapped there */
	je.opt[OPT_LG_PROF_SAMPLE] = (uintptr_t)&sample;
	je.opt[OPT_LG_PROF_INTERVAL] = (uintptr_t)&negative;
	jemalloc_read_values(&je, &p, &v);
	assert_int_equal(jemalloc_value_is(&v, OPT_PROF), TRI_YES);
	assert_int_equal(jemalloc_value_is(&v, OPT_PROF_FINAL), TRI_NO);
	/* Not a bool; unreadable; not found. */
	assert_int_equal(jemalloc_value_is(&v, OPT_PROF_LEAK), TRI_UNKNOWN);
	assert_int_equal(jemalloc_value_is(&v, OPT_PROF_ACCUM), TRI_UNKNOWN);
	assert_int_equal(jemalloc_value_is(&v, OPT_PROF_GDUMP), TRI_UNKNOWN);
	assert_true(v.opt[OPT_LG_PROF_SAMPLE].known);
	assert_int_equal(v.opt[OPT_LG_PROF_SAMPLE].value, 19);
	assert_true(v.opt[OPT_LG_PROF_INTERVAL].known);
	assert_int_equal(v.opt[OPT_LG_PROF_INTERVAL].value, -1);
	assert_int_equal(v.prof_active, TRI_YES);
	je.opt[OPT_LG_PROF_SAMPLE] = (uintptr_t)&large;
	je.prof_active = (uintptr_t)&off;
	jemalloc_read_values(&je, &p, &v);
	assert_false(v.opt[OPT_LG_PROF_SAMPLE].known);
	assert_int_equal(v.prof_active, TRI_NO);
	je.prof_active = 8;
	jemalloc_read_values(&je, &p, &v);
	assert_int_equal(v.prof_active, TRI_UNKNOWN);
}

static void test_hooks(void **state)
{
	static const struct {
		const char *version;
		enum tristate want;
	} versions[] = {
		{ "", TRI_UNKNOWN },  { "5.1.0", TRI_NO },	 { "5.2.0", TRI_YES },
		{ "5.3.1", TRI_YES }, { "5.3.2-0-gab", TRI_NO }, { "6.0.0", TRI_NO },
		{ "4.5.0", TRI_NO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		assert_int_equal(jemalloc_has_hooks(versions[i].version), versions[i].want);
}

/* Names are written to units and command lines, so they must be valid. */
static void test_conf_names(void **state)
{
	static const char *const good[] = { "MALLOC_CONF", "JE_MALLOC_CONF", "_RJEM_MALLOC_CONF",
					    "A1_MALLOC_CONF" };
	static const char *const bad[] = { "",
					   "ALLOC_CONF",
					   "malloc_conf",
					   "MALLOC_CONF2",
					   "a_MALLOC_CONF",
					   " MALLOC_CONF",
					   "X\nMALLOC_CONF",
					   "$(x)MALLOC_CONF",
					   "MALLOC_CONF=" };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(jemalloc_is_conf_name(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(jemalloc_is_conf_name(bad[i]));
}

/* 5.0 and 5.1 have one fewer state that means the data is in use. */
static void test_tsd(void **state)
{
	const struct jemalloc_tsd old = { .fresh = 5 }, new = { .fresh = 6 };

	(void)state;
	for (unsigned int i = 0; i < 256; i++) {
		assert_int_equal(jemalloc_tsd_in_use(&old, (uint8_t)i), i <= 1);
		assert_int_equal(jemalloc_tsd_in_use(&new, (uint8_t)i), i <= 2);
	}
	assert_true(jemalloc_is_background("jemalloc_bg_thd"));
	assert_false(jemalloc_is_background("jemalloc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_conf_names),
		cmocka_unit_test(test_tsd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
