// SPDX-License-Identifier: Apache-2.0
#include "profile/diff.h"
#include "profile/symbols.h"
#include "tests/unit/said.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* One sample per KiB. All objects have 16 bytes, so each sample represents about 64 of them. */
#define HEAD "heap_v2/1024\n  t*: 0: 0 [0: 0]\n"
#define MAPS "\nMAPPED_LIBRARIES:\n401000-402000 r-xp 1000 0:0 1 /bin/prog\n"
#define STACK(pc, n, bytes) "@ " pc "\n  t*: " n ": " bytes " [0: 0]\n"

static void add(struct profile_series *s, const char *text)
{
	struct profile_options options = { 0 };
	struct profile p = { 0 };
	struct err err = ERR_INIT;

	if (profile_parse(&p, text, strlen(text), &options, &err) ||
	    profile_series_add(s, &p, &err))
		fail_msg("%s", said(&err));
	profile_fini(&p);
}

static const char first[] = HEAD STACK("0x401100", "100", "1600") STACK("0x401200", "50", "800")
	STACK("0x401300", "4", "64") MAPS;
static const char second[] = HEAD STACK("0x401400", "60", "960") STACK("0x401300", "7", "112")
	STACK("0x401100", "100", "1600") MAPS;

/* profile_diff(), but only for stacks. */
static struct profile_diff diff_stacks(struct profile_series *s)
{
	struct profile_diff functions, stacks;
	struct err err = ERR_INIT;

	assert_int_equal(profile_symbols_none(&s->all, &err), 0);
	assert_int_equal(profile_diff(s, &functions, &stacks, &err), 0);
	profile_diff_fini(&functions);
	return stacks;
}

static uint64_t pc_of(const struct profile_series *s, const struct profile_change *c)
{
	const struct profile *p = &s->all;

	return p->addresses[p->frames[p->stacks[c->at].first]].pc;
}

static void test_stacks(void **state)
{
	struct profile_series s = { .type = PROFILE_INUSE_SPACE };
	struct profile_diff d;

	(void)state;
	add(&s, first);
	add(&s, second);
	d = diff_stacks(&s);
	assert_int_equal(d.n, 3);
	assert_int_equal(d.n_significant, 2);
	/*
	 * The largest change first: 60 samples are new, 50 are gone, three more may be chance. 100
	 * are unchanged.
	 */
	assert_int_equal(pc_of(&s, &d.v[0]), 0x401400);
	assert_true(d.v[0].significant && d.v[0].before == 0 && d.v[0].after > 60 * 1024);
	assert_true(fabs(profile_change_error(&d.v[0]) / d.v[0].after - 1 / sqrt(60)) < 0.01);
	assert_int_equal(pc_of(&s, &d.v[1]), 0x401200);
	assert_true(d.v[1].significant && d.v[1].after == 0);
	assert_int_equal(pc_of(&s, &d.v[2]), 0x401300);
	assert_true(!d.v[2].significant && d.v[2].p > 0.1);
	profile_diff_fini(&d);
	profile_series_fini(&s);
}

static void test_unchanged(void **state)
{
	struct profile_series s = { .type = PROFILE_INUSE_SPACE };
	struct profile_diff functions, stacks;
	struct err err = ERR_INIT;

	(void)state;
	add(&s, first);
	add(&s, first);
	assert_int_equal(profile_symbols_none(&s.all, &err), 0);
	assert_int_equal(profile_diff(&s, &functions, &stacks, &err), 0);
	assert_int_equal(stacks.n, 0);
	assert_int_equal(functions.n, 0);
	profile_diff_fini(&functions);
	profile_diff_fini(&stacks);
	profile_series_fini(&s);
}

/* Two stacks with the same innermost function: functions are identified by their names. */
static void test_functions(void **state)
{
	static const char two[] = HEAD "@ 0x401100 0x401500\n  t*: 40: 640 [0: 0]\n"
				       "@ 0x401100 0x401600\n  t*: 20: 320 [0: 0]\n" MAPS;
	struct profile_series s = { .type = PROFILE_INUSE_SPACE };
	struct profile_diff stacks, functions;
	struct err err = ERR_INIT;

	(void)state;
	add(&s, HEAD MAPS);
	add(&s, two);
	assert_int_equal(profile_symbols_none(&s.all, &err), 0);
	assert_int_equal(profile_diff(&s, &functions, &stacks, &err), 0);
	assert_int_equal(stacks.n, 2);
	assert_int_equal(functions.n, 1);
	assert_true(fabs(functions.v[0].after - stacks.v[0].after - stacks.v[1].after) < 1e-6);
	assert_true(functions.v[0].significant);
	profile_diff_fini(&stacks);
	profile_diff_fini(&functions);
	profile_series_fini(&s);
}

/*
 * Much is allocated and freed in a function, so its error is large and hides the change of one of
 * its stacks. The function is only marked if both change in the same direction.
 */
static void test_stack_in_function(void **state)
{
	static const char before[] = HEAD "@ 0x401100 0x401500\n  t*: 9000: 144000 [0: 0]\n"
					  "@ 0x401200 0x401500\n  t*: 9000: 144000 [0: 0]\n" MAPS;
	static const char after[] = HEAD "@ 0x401100 0x401500\n  t*: 9000: 144000 [0: 0]\n"
					 "@ 0x401200 0x401500\n  t*: 8900: 142400 [0: 0]\n"
					 "@ 0x401100 0x401600\n  t*: 60: 960 [0: 0]\n"
					 "@ 0x401200 0x401600\n  t*: 60: 960 [0: 0]\n" MAPS;
	struct profile_series s = { .type = PROFILE_INUSE_SPACE };
	struct profile_diff stacks, functions;
	struct err err = ERR_INIT;

	(void)state;
	add(&s, before);
	add(&s, after);
	assert_int_equal(profile_symbols_none(&s.all, &err), 0);
	assert_int_equal(profile_diff(&s, &functions, &stacks, &err), 0);
	assert_int_equal(stacks.n, 3);
	assert_int_equal(stacks.n_significant, 2);
	assert_int_equal(functions.n, 2);
	assert_true(functions.v[0].after > functions.v[0].before && functions.v[0].p > 0.1);
	assert_true(functions.v[0].significant);
	assert_true(functions.v[1].after < functions.v[1].before && functions.v[1].p > 0.1);
	assert_false(functions.v[1].significant);
	assert_int_equal(functions.n_significant, 1);
	profile_diff_fini(&stacks);
	profile_diff_fini(&functions);
	profile_series_fini(&s);
}

static void test_nothing(void **state)
{
	struct profile_series s = { .type = PROFILE_INUSE_SPACE };
	struct profile_diff d;

	(void)state;
	add(&s, HEAD MAPS);
	add(&s, HEAD MAPS);
	d = diff_stacks(&s);
	assert_int_equal(d.n, 0);
	profile_diff_fini(&d);
	profile_series_fini(&s);
}

static void test_other_program(void **state)
{
	static const char other[] =
		HEAD "\nMAPPED_LIBRARIES:\n401000-402000 r-xp 1000 0:0 1 /bin/other\n";
	struct profile_series s = { .type = PROFILE_INUSE_SPACE };
	struct profile_options options = { 0 };
	struct profile p = { 0 };
	struct err err = ERR_INIT;

	(void)state;
	add(&s, first);
	assert_int_equal(profile_parse(&p, other, strlen(other), &options, &err), 0);
	assert_int_equal(profile_series_add(&s, &p, &err), -1);
	assert_int_equal(err.ids[0], ERROR_OF_ANOTHER_PROGRAM);
	profile_fini(&p);
	profile_series_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks),	  cmocka_unit_test(test_unchanged),
		cmocka_unit_test(test_functions), cmocka_unit_test(test_stack_in_function),
		cmocka_unit_test(test_nothing),	  cmocka_unit_test(test_other_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
