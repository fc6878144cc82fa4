// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/mallctl.h"
#include "tests/unit/said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_lookup(void **state)
{
	const struct mallctl *m;

	(void)state;
	m = mallctl_lookup("prof.active");
	assert_non_null(m);
	assert_int_equal(m->type, MALLCTL_BOOL);
	assert_int_equal(m->access, MALLCTL_READ | MALLCTL_WRITE);
	assert_true(m->needs_prof);
	assert_string_equal(mallctl_lookup("arena.3.purge")->name, "arena.<i>.purge");
	assert_string_equal(mallctl_lookup("stats.arenas.0.bins.12.nmalloc")->name,
			    "stats.arenas.<i>.bins.<i>.nmalloc");
	assert_non_null(mallctl_lookup("stats.mutexes.prof_dump.num_ops"));
	assert_int_equal(mallctl_lookup("prof.prefix")->access, MALLCTL_WRITE);
	assert_string_equal(mallctl_lookup("prof.prefix")->since, "5.3.0");
}

static void test_unknown(void **state)
{
	static const char *const names[] = {
		"",
		"prof",
		"prof.",
		"prof.activ",
		".prof.active",
		"prof.active.",
		"prof..active",
		"arena..purge",
		"arena.x.purge",
		"arena.<i>.purge",
		"arena.-1.purge",
		"arena.99999999999.purge",
		"PROF.ACTIVE",
		"stats.mutexes.nonesuch.num_ops",
		"prof.active\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_null(mallctl_lookup(names[i]));
}

static void test_danger(void **state)
{
	static const char *const names[] = {
		"arena.0.reset", "arena.0.destroy", "arena.0.extent_hooks",	    "tcache.flush",
		"thread.arena",	 "arenas.lookup",   "experimental.hooks.prof_dump",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_non_null(mallctl_lookup(names[i])->danger);
	assert_null(mallctl_lookup("prof.dump")->danger);
}

/* Every row is complete, and names that belong to profiling are known to need it. */
static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < mallctl_table_size; i++) {
		const struct mallctl *m = &mallctl_table[i];

		assert_true(m->access);
		assert_non_null(m->since);
		assert_int_equal(m->needs_prof && !m->danger,
				 (!strncmp(m->name, "prof.", 5) || strstr(m->name, ".prof.") ||
				  strstr(m->name, ".prof_recent.")) &&
					 !m->danger);
		assert_int_equal(m->per_thread, !strncmp(m->name, "thread.", 7));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(m->name, mallctl_table[k].name);
	}
}

static void test_parse_bool(void **state)
{
	const struct mallctl *m = mallctl_lookup("prof.active");
	union mallctl_value v;
	struct err err;

	(void)state;
	assert_int_equal(mallctl_parse(m, "on", &v, &err), 0);
	assert_true(v.b);
	assert_int_equal(mallctl_parse(m, "False", &v, &err), 0);
	assert_false(v.b);
	assert_int_equal(mallctl_parse(m, "2", &v, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_string_equal(said(&err), "prof.active takes true or false, not \"2\"");
}

static void test_parse_numbers(void **state)
{
	static const struct mallctl u32 = { .name = "u", .type = MALLCTL_U32 };
	static const struct mallctl u64 = { .name = "u", .type = MALLCTL_U64 };
	static const struct mallctl ssize = { .name = "s", .type = MALLCTL_SSIZE };
	static const char *const bad[] = { "", "-", "0x", "0xg", "1-", "--1", "1e3" };
	union mallctl_value v;
	struct err err;

	(void)state;
	assert_int_equal(mallctl_parse(&u32, "4294967295", &v, &err), 0);
	assert_int_equal(v.u32, UINT32_MAX);
	assert_int_equal(mallctl_parse(&u32, "4G", &v, &err), -1);
	assert_int_equal(mallctl_parse(&u32, "-1", &v, &err), -1);
	assert_int_equal(mallctl_parse(&u64, "0xffffffffffffffff", &v, &err), 0);
	assert_int_equal(v.u64, UINT64_MAX);
	assert_int_equal(mallctl_parse(&u64, "0x10000000000000000", &v, &err), -1);
	assert_int_equal(mallctl_parse(&u64, "512K", &v, &err), 0);
	assert_int_equal(v.u64, 512 << 10);
	assert_int_equal(mallctl_parse(&ssize, "-1", &v, &err), 0);
	assert_int_equal(v.i64, -1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(mallctl_parse(&ssize, bad[i], &v, &err), -1);
}

static void test_parse_none(void **state)
{
	union mallctl_value v;
	struct err err;

	(void)state;
	assert_int_equal(mallctl_parse(mallctl_lookup("arena.0.purge"), "1", &v, &err), -1);
	assert_int_equal(mallctl_parse(mallctl_lookup("prof.dump"), "x", &v, &err), -1);
	assert_int_equal(mallctl_size(MALLCTL_VOID), 0);
	assert_int_equal(mallctl_size(MALLCTL_BOOL), 1);
	assert_int_equal(mallctl_size(MALLCTL_STRING), 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookup),	   cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_danger),	   cmocka_unit_test(test_table),
		cmocka_unit_test(test_parse_bool), cmocka_unit_test(test_parse_numbers),
		cmocka_unit_test(test_parse_none),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
