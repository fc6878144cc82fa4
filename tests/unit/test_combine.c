// SPDX-License-Identifier: Apache-2.0
#include "profile/combine.h"
#include "profile/symbols.h"
#include "tests/unit/said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct profile parsed(const char *text, bool by_thread)
{
	struct profile_options options = { .by_thread = by_thread };
	struct profile p = { 0 };
	struct err err = ERR_INIT;

	if (profile_parse(&p, text, strlen(text), &options, &err))
		fail_msg("%s", said(&err));
	return p;
}

#define HEAD "heap profile: 0: 0 [0: 0] @ heapprofile\n"
#define MAPS(program, library)                                                 \
	"\nMAPPED_LIBRARIES:\n" program " r-xp 1000 0:0 1 /bin/prog\n" library \
	" r-xp 0 0:0 2 /lib/lib.so\n"

/* The same program and library, at different addresses. */
static const char here[] = HEAD "2: 20 [4: 40] @ 0x401100 0x7001010\n"
				"1: 8 [0: 0] @ 0x401100\n" MAPS("401000-402000", "7001000-7002000");
static const char there[] =
	HEAD "1: 10 [1: 10] @ 0x501100 0x8001010\n"
	     "3: 3 [0: 0] @ 0x501200 0x9\n" MAPS("501000-502000", "8001000-8002000");

static void test_merge(void **state)
{
	struct profile p = parsed(here, false), q = parsed(there, false);
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(profile_merge(&p, &q, &err), 0);
	assert_int_equal(p.n_stacks, 3);
	assert_int_equal(p.n_mappings, 2);
	assert_true(p.stacks[0].value[PROFILE_INUSE_SPACE] == 30);
	assert_true(p.stacks[0].value[PROFILE_ALLOC_OBJECTS] == 5);
	assert_true(p.stacks[1].value[PROFILE_INUSE_SPACE] == 8);
	assert_int_equal(p.addresses[p.frames[p.stacks[2].first]].pc, 0x401200);
	assert_int_equal(p.addresses[p.frames[p.stacks[2].first]].mapping, 0);
	assert_int_equal(p.addresses[p.frames[p.stacks[2].first + 1]].mapping, PROFILE_NONE);
	profile_fini(&p);
	profile_fini(&q);
}

static void test_subtract(void **state)
{
	struct profile p = parsed(here, false), q = parsed(there, false);
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(profile_subtract(&p, &q, &err), 0);
	assert_true(p.difference);
	assert_true(p.stacks[0].value[PROFILE_INUSE_SPACE] == 10);
	assert_true(p.stacks[2].value[PROFILE_INUSE_OBJECTS] == -3);
	assert_true(profile_total(&p, PROFILE_INUSE_SPACE) == 15);
	profile_fini(&p);
	profile_fini(&q);
	p = parsed(here, false);
	q = parsed(here, false);
	assert_int_equal(profile_subtract(&p, &q, &err), 0);
	assert_int_equal(p.n_stacks, 2);
	assert_true(profile_total(&p, PROFILE_INUSE_SPACE) == 0);
	profile_fini(&p);
	profile_fini(&q);
}

/* The variance of a difference is the sum of both variances. */
static void test_variance(void **state)
{
	static const char text[] = "heap_v2/1024\n@ 0x1\n t*: 4: 64 [0: 0]\n";
	struct profile p = parsed(text, false), q = parsed(text, false);
	double variance = p.stacks[0].variance[PROFILE_INUSE_SPACE];
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(profile_subtract(&p, &q, &err), 0);
	assert_true(p.stacks[0].value[PROFILE_INUSE_SPACE] == 0);
	assert_true(variance > 0 && p.stacks[0].variance[PROFILE_INUSE_SPACE] == 2 * variance);
	profile_fini(&p);
	profile_fini(&q);
}

static void test_refused(void **state)
{
	static const char other[] =
		HEAD "1: 1 [0: 0] @ 0x1\n\nMAPPED_LIBRARIES:\n1000-2000 r-xp 0 0:0 1 /bin/other\n";
	static const char *const build[] = { "# build-id 401000-402000 aa\n",
					     "# build-id 501000-502000 bb\n" };
	char text[2][sizeof(here) + sizeof(there)];
	struct profile p = parsed(here, false), q = parsed(other, false);
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(profile_merge(&p, &q, &err), -1);
	assert_string_equal(said(&err), "it is from another program: /bin/other, not /bin/prog");
	assert_int_equal(p.n_stacks, 2);
	profile_fini(&p);
	profile_fini(&q);
	snprintf(text[0], sizeof(text[0]), "%s%s", here, build[0]);
	snprintf(text[1], sizeof(text[1]), "%s%s", there, build[1]);
	p = parsed(text[0], false);
	q = parsed(text[1], false);
	assert_int_equal(profile_merge(&p, &q, &err), -1);
	assert_string_equal(said(&err), "it is from another build of /bin/prog");
	profile_fini(&p);
	profile_fini(&q);
}

/* A build id that only one profile has is dropped: the library may have been replaced. */
static void test_one_build_id(void **state)
{
	static const char id[] = "# build-id 7001000-7002000 aa\n";
	char with[sizeof(here) + sizeof(id)];

	(void)state;
	snprintf(with, sizeof(with), "%s%s", here, id);
	for (int n = 0; n < 4; n++) {
		struct profile p = parsed(n & 1 ? with : here, false);
		struct profile q = parsed(n & 2 ? with : here, false);
		struct err err = ERR_INIT;

		assert_int_equal(profile_merge(&p, &q, &err), 0);
		assert_int_equal(p.n_mappings, 2);
		if (n == 3)
			assert_string_equal(p.mappings[1].build_id, "aa");
		else
			assert_null(p.mappings[1].build_id);
		profile_fini(&p);
		profile_fini(&q);
	}
}

/* A library that only the other profile has, at addresses that are taken here, is moved. */
static void test_in_the_way(void **state)
{
	static const char text[] = HEAD
		"1: 1 [0: 0] @ 0x401100 0x7001020\n\nMAPPED_LIBRARIES:\n"
		"401000-402000 r-xp 1000 0:0 1 /bin/prog\n7000000-7003000 r-xp 0 0:0 2 /lib/x.so\n";
	struct profile p = parsed(here, false), q = parsed(text, false);
	const struct profile_address *moved;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(profile_merge(&p, &q, &err), 0);
	assert_int_equal(p.n_stacks, 3);
	assert_int_equal(p.n_mappings, 3);
	moved = &p.addresses[p.frames[p.stacks[2].first + 1]];
	assert_string_equal(p.mappings[moved->mapping].path, "/lib/x.so");
	assert_int_equal(moved->pc - p.mappings[moved->mapping].start, 0x1020);
	profile_fini(&p);
	profile_fini(&q);
}

static void test_threads(void **state)
{
	static const char a[] = "heap_v2/1\n t5: 0: 0 [0: 0] five\n@ 0x1\n"
				" t*: 1: 100 [0: 0]\n t5: 1: 100 [0: 0]\n";
	static const char b[] = "heap_v2/1\n t2: 0: 0 [0: 0] two\n@ 0x1\n"
				" t*: 3: 300 [0: 0]\n t2: 1: 100 [0: 0]\n"
				" t5: 2: 200 [0: 0]\n";
	struct profile p = parsed(a, true), q = parsed(b, true);
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(profile_merge(&p, &q, &err), 0);
	assert_int_equal(p.n_threads, 2);
	assert_string_equal(p.threads[0].name, "two");
	assert_string_equal(p.threads[1].name, "five");
	assert_int_equal(p.n_stacks, 2);
	assert_int_equal(p.stacks[0].thread, 1);
	assert_true(p.stacks[0].value[PROFILE_INUSE_SPACE] == 300);
	assert_int_equal(p.stacks[1].thread, 0);
	profile_fini(&p);
	profile_fini(&q);
}

static void test_names(void **state)
{
	static const char names[] = "--- symbol\n0x4010ff fun\n---\n--- heap\n";
	char text[sizeof(names) + sizeof(here)];
	struct profile p, q = parsed(there, false);
	struct err err = ERR_INIT;
	const struct profile_symbols *s;

	(void)state;
	snprintf(text, sizeof(text), "%s%s", names, here);
	p = parsed(text, false);
	assert_int_equal(profile_merge(&p, &q, &err), 0);
	s = p.symbols;
	assert_int_equal(s->n_locations, p.n_addresses);
	assert_string_equal(s->functions[s->lines[s->locations[0].first].function].name, "fun");
	profile_fini(&p);
	profile_fini(&q);
}

/* Memory allocated and memory in use cannot be added or subtracted, in either order. */
static void test_counts(void **state)
{
	static const char held[] = "heap_v2/1\n@ 0x1\n t*: 1: 64 [1: 64]\n\nMAPPED_LIBRARIES:\n";
	static const char allocated[] = "heap_v2/1\n@ 0x1\n t*: 0: 0 [1: 64]\n\nMAPPED_LIBRARIES:\n"
					"# counts alloc_space\n# sample_bytes 16\n";
	struct profile p = parsed(held, false), q = parsed(allocated, false);
	struct profile both;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(profile_merge(&p, &q, &err), -1);
	assert_int_equal(err.ids[0], ERROR_COUNTS_DIFFER);
	assert_int_equal(profile_subtract(&q, &p, &err), -1);
	assert_int_equal(err.ids[0], ERROR_COUNTS_DIFFER);
	assert_int_equal(p.n_stacks, 1);
	assert_false(q.difference);
	profile_fini(&p);
	/* An empty profile becomes a copy of the first one that is added to it. */
	p = parsed(allocated, false);
	both = parsed("heap_v2/1\n", false);
	both.period = 0;
	assert_int_equal(profile_merge(&both, &p, &err), 0);
	assert_false(profile_knows(&both, PROFILE_INUSE_SPACE));
	assert_int_equal(profile_merge(&both, &q, &err), 0);
	assert_true(both.stacks[0].value[PROFILE_ALLOC_SPACE] == 128);
	assert_true(both.stacks[0].variance[PROFILE_ALLOC_SPACE] == 128 * 16);
	assert_false(both.rates_differ);
	/* Profiles in pprof's format only have the bytes of their samples. */
	both.stacks[0].sampled[PROFILE_ALLOC_OBJECTS] = -1;
	profile_drop_negative(&both);
	assert_true(both.stacks[0].sampled[PROFILE_ALLOC_OBJECTS] == 0);
	assert_true(both.stacks[0].sampled[PROFILE_ALLOC_SPACE] == 128);
	profile_fini(&both);
	profile_fini(&p);
	profile_fini(&q);
}

#define NAMED(name) "--- symbol\n0x4010ff " name "\n---\n--- heap\n"

/* Two builds that differ only in a name: one address, two functions. */
static void test_two_functions(void **state)
{
	static const struct {
		const char *name;
		bool same;
	} cases[] = { { "fun", true }, { "fun (a.c)", true }, { "other", false } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[2][sizeof(here) + 64];
		struct profile p, q;
		struct err err = ERR_INIT;

		snprintf(text[0], sizeof(text[0]), NAMED("fun") "%s", here);
		snprintf(text[1], sizeof(text[1]), NAMED("%s") "%s", cases[i].name, here);
		p = parsed(text[0], false);
		q = parsed(text[1], false);
		assert_int_equal(profile_merge(&p, &q, &err), 0);
		assert_int_equal(p.n_stacks, cases[i].same ? 2 : 4);
		assert_int_equal(p.n_addresses, cases[i].same ? 2 : 3);
		assert_true(profile_total(&p, PROFILE_INUSE_SPACE) == 56);
		assert_string_equal(
			p.symbols
				->functions[p.symbols->lines[p.symbols->locations[0].first]
						    .function]
				.name,
			"fun");
		profile_fini(&p);
		profile_fini(&q);
	}
}

/* A merged profile has the inodes, the earliest time, and a note if the rates differ. */
static void test_both(void **state)
{
	struct profile p = parsed(here, false), q = parsed(there, false);
	struct err err = ERR_INIT;

	(void)state;
	p.written_ns = 7;
	q.written_ns = 5;
	q.mappings[0].inode = 0;
	q.mappings[1].inode = 77;
	assert_int_equal(profile_merge(&p, &q, &err), 0);
	assert_int_equal(p.written_ns, 5);
	assert_int_equal(p.mappings[0].other_inode, 0);
	assert_int_equal(p.mappings[1].inode, 2);
	assert_int_equal(p.mappings[1].other_inode, 77);
	assert_false(p.rates_differ);
	q.written_ns = 0;
	q.period = 2;
	assert_int_equal(profile_merge(&p, &q, &err), 0);
	assert_int_equal(p.written_ns, 5);
	assert_true(p.rates_differ);
	q.period = 1;
	assert_int_equal(profile_merge(&q, &p, &err), 0);
	assert_true(q.rates_differ);
	profile_fini(&p);
	profile_fini(&q);
}

/* There is no room for the last mapping: the merge fails and changes nothing. */
static void test_no_place(void **state)
{
	static const char huge[] =
		HEAD "1: 1 [0: 0] @ 0x401100\n\nMAPPED_LIBRARIES:\n401000-402000 r-xp 1000 0:0 9 "
		     "/bin/prog\n"
		     "500000-501000 r-xp 0 0:0 3 /lib/new.so\n"
		     "7000000-ffffffffffff0000 r-xp 0 0:0 4 /lib/huge.so\n";
	char text[sizeof(here) + 64];
	struct profile p, q = parsed(huge, false);
	struct err err = ERR_INIT;

	(void)state;
	snprintf(text, sizeof(text), "%s# build-id 401000-402000 aa\n", here);
	p = parsed(text, false);
	assert_int_equal(profile_merge(&p, &q, &err), -1);
	assert_int_equal(err.ids[0], ERROR_MAPPINGS_OVERLAP);
	assert_int_equal(p.n_mappings, 2);
	assert_int_equal(p.mappings[0].other_inode, 0);
	assert_string_equal(p.mappings[0].build_id, "aa");
	assert_int_equal(p.n_stacks, 2);
	profile_fini(&p);
	profile_fini(&q);
}

/* The facts outlive the profile that they were copied from. */
static void test_facts(void **state)
{
	char text[sizeof(here) + 128];
	struct profile p, q = parsed(here, false);
	struct err err;

	(void)state;
	snprintf(text, sizeof(text), "%s# pid 7\n# comm c\n# host h\n# version v\n# time_ns 9\n",
		 here);
	p = parsed(text, false);
	assert_int_equal(profile_keep_facts(&q, &p.facts, &err), 0);
	assert_ptr_not_equal(q.facts.comm, p.facts.comm);
	profile_fini(&p);
	assert_int_equal(q.facts.pid, 7);
	assert_int_equal(q.facts.time_ns, 9);
	assert_string_equal(q.facts.comm, "c");
	assert_string_equal(q.facts.host, "h");
	assert_string_equal(q.facts.version, "v");
	assert_null(q.facts.explain);
	profile_fini(&q);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merge),	     cmocka_unit_test(test_subtract),
		cmocka_unit_test(test_variance),     cmocka_unit_test(test_refused),
		cmocka_unit_test(test_one_build_id), cmocka_unit_test(test_in_the_way),
		cmocka_unit_test(test_threads),	     cmocka_unit_test(test_names),
		cmocka_unit_test(test_counts),	     cmocka_unit_test(test_two_functions),
		cmocka_unit_test(test_both),	     cmocka_unit_test(test_no_place),
		cmocka_unit_test(test_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
