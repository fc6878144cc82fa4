// SPDX-License-Identifier: Apache-2.0
/* Whole reports of small profiles; the numbers are worked out by hand. */
#include "profile/report.h"

#include "tests/unit/made_profile.h"
#include "tests/unit/said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SPACE PROFILE_INUSE_SPACE
#define KIB 1024.0
#define N(a) (sizeof(a) / sizeof((a)[0]))

enum kind { TEXT, TRACES, TREE, JEPROF };

static struct profile_table table_of(const struct made_profile *made,
				     const struct profile_report_options *o)
{
	struct profile_table t;
	struct err err;

	assert_int_equal(profile_table_init(&t, &made->profile, o->type, true, &err), 0);
	profile_table_sort(&t, &made->symbols, (struct profile_table_order){ .by_cum = o->by_cum });
	return t;
}

static int write_report(struct made_profile *made, enum kind kind,
			const struct profile_report_options *o, const char *peek, FILE *out,
			struct err *err)
{
	struct profile_table t = table_of(made, o);
	int ret = kind == TEXT	   ? profile_report_text(&made->profile, &t, o, out, err)
		  : kind == TRACES ? profile_report_traces(&made->profile, &t, o, out, err)
		  : kind == TREE   ? profile_report_tree(&made->profile, &t, o, peek, out, err)
				   : profile_report_jeprof(&made->profile, &t, o, out, err);

	profile_table_fini(&t);
	return ret;
}

/* The caller frees the result. */
static char *report(struct made_profile *made, enum kind kind,
		    const struct profile_report_options *o, const char *peek)
{
	struct err err = ERR_INIT;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	if (write_report(made, kind, o, peek, out, &err))
		fail_msg("%s", said(&err));
	fclose(out);
	return text;
}

static void expect(struct made_profile *made, enum kind kind,
		   const struct profile_report_options *o, const char *want)
{
	char *text = report(made, kind, o, NULL);

	assert_string_equal(text, want);
	free(text);
}

/* work() accounts for 600K of 800K, including 200K in leaf(). */
static struct made_profile *some_profile(void)
{
	static const struct made_stack stacks[] = {
		{ "main;work", 40, 400 * KIB, 0, 0 },
		{ "main;work;leaf", 2, 200 * KIB, 0, 0 },
		{ "main;other", 2000, 200 * KIB, 0, 0 },
	};
	struct made_profile *made = made_profile(stacks, N(stacks));

	made->stacks[0].variance[SPACE] = 9 * KIB * KIB;
	made->stacks[1].variance[SPACE] = 16 * KIB * KIB;
	return made;
}

static struct profile_report_options usual(void)
{
	return (struct profile_report_options){
		.type = SPACE, .total = 800 * KIB, .column = "function", .how_all = "see all"
	};
}

static void test_text(void **state)
{
	struct made_profile *made = some_profile();
	struct profile_report_options o = usual();

	(void)state;
	expect(made, TEXT, &o,
	       "inuse_space of made (42): 800K ±5.0K in 3 stacks; one sample per 512K\n"
	       "      flat  flat%   sum%        cum   cum%    ±flat  function\n"
	       "      400K  50.0%  50.0%       600K  75.0%      3.0K  work\n"
	       "      200K  25.0%  75.0%       200K  25.0%      4.0K  leaf\n"
	       "      200K  25.0% 100.0%       200K  25.0%         0  other\n"
	       "         0   0.0% 100.0%       800K 100.0%         0  main\n"
	       "\n"
	       "     stack      %  innermost call first\n"
	       "      400K  50.0%  work < main\n"
	       "      200K  25.0%  leaf < work < main\n"
	       "      200K  25.0%  other < main\n");
	made_free(made);
}

/* Sorted by cum, in megabytes, two rows of four. */
static void test_rows(void **state)
{
	struct made_profile *made = some_profile();
	struct profile_report_options o = usual();

	(void)state;
	o.by_cum = true;
	o.unit = PROFILE_UNIT_MB;
	o.node_count = 2;
	o.column = "line";
	o.n_folded = 2;
	o.how_folded = "see them";
	o.total = 1600 * KIB;
	o.memory = "memory: elsewhere";
	o.n_processes = 3;
	made->profile.rates_differ = true;
	made->profile.facts.comm = "a\033b";
	expect(made, TEXT, &o,
	       "inuse_space of a\\x1bb (42), 3 processes: 0.78MB ±0.00MB in 3 stacks, of 1.56MB\n"
	       "memory: elsewhere\n"
	       "      flat  flat%   sum%        cum   cum%     ±cum  line\n"
	       "    0.00MB   0.0%   0.0%     0.78MB 100.0%    0.00MB  main\n"
	       "    0.39MB  50.0%  50.0%     0.59MB  75.0%    0.00MB  work\n"
	       "    0.39MB  50.0%  in 2 more rows; see all\n"
	       "2 allocator functions folded into their callers; see them\n"
	       "\n"
	       "     stack      %  innermost call first\n"
	       "    0.39MB  50.0%  work < main\n"
	       "    0.20MB  25.0%  leaf < work < main\n"
	       "    0.20MB  25.0%  other < main\n");
	made_free(made);
}

/* Percentages refer to the sum of all changes, and functions that shrank are shown. */
static void test_difference(void **state)
{
	static const struct made_stack stacks[] = {
		{ "main;a", -3, -300, 0, 0 },
		{ "main;b", 1, 100, 0, 0 },
		{ "main;c", 0, 0, 0, 0 },
	};
	struct made_profile *made = made_profile(stacks, N(stacks));
	struct profile_report_options o = usual();

	(void)state;
	made->profile.difference = true;
	made->profile.facts = (struct profile_facts){ 0 };
	made->profile.period = 1;
	o.unit = PROFILE_UNIT_B;
	o.total = -200;
	o.node_count = 3;
	expect(made, TEXT, &o,
	       "inuse_space: -200B ±0B in 2 stacks\n"
	       "% of the sum of all absolute changes: 400B\n"
	       "      flat  flat%   sum%        cum   cum%    ±flat  function\n"
	       "     -300B -75.0% -75.0%      -300B -75.0%        0B  a\n"
	       "      100B  25.0% -50.0%       100B  25.0%        0B  b\n"
	       "        0B   0.0% -50.0%      -200B -50.0%        0B  main\n"
	       "        0B   0.0%  in 1 more row; see all\n"
	       "\n"
	       "     stack      %  innermost call first\n"
	       "     -300B -75.0%  a < main\n"
	       "      100B  25.0%  b < main\n");
	o.type = PROFILE_INUSE_OBJECTS;
	o.total = -2;
	o.node_count = 0;
	o.has_thread = true;
	o.thread = 7;
	expect(made, TREE, &o,
	       "inuse_objects, thread 7: -2 ±0 in 2 stacks\n"
	       "% of the sum of all absolute changes: 4\n"
	       "      flat  flat%        cum   cum%    ±flat  function\n"
	       "\n"
	       "                                    -3 -75.0%  <- main\n"
	       "        -3 -75.0%         -3 -75.0%         0  a\n"
	       "\n"
	       "                                     1  25.0%  <- main\n"
	       "         1  25.0%          1  25.0%         0  b\n"
	       "\n"
	       "         0   0.0%         -2 -50.0%         0  main\n"
	       "                                    -3 -75.0%  -> a\n"
	       "                                     1  25.0%  -> b\n"
	       "                                     0   0.0%  -> c\n"
	       "\n"
	       "                                     0   0.0%  <- main\n"
	       "         0   0.0%          0   0.0%         0  c\n"
	       "\n");
	expect(made, JEPROF, &o,
	       "Total (t7): -2 objects\n"
	       "      -3 150.0% 150.0%       -3 150.0% a\n"
	       "       1 -50.0% 100.0%        1 -50.0% b\n"
	       "       0  -0.0% 100.0%       -2 100.0% main\n");
	made_free(made);
}

/* Allocations over a time also have a rate. An empty profile has no percentages. */
static void test_head(void **state)
{
	static const struct made_stack stack = { "main", 0, 0, 4, 3 * KIB };
	struct made_profile *made = made_profile(&stack, 1);
	struct profile_report_options o = usual();

	(void)state;
	o.type = PROFILE_ALLOC_SPACE;
	o.total = 3 * KIB;
	o.has_thread = true;
	o.thread = UINT64_MAX;
	made->profile.facts.only_alloc_space = true;
	made->profile.facts.duration_ns = 1500000000;
	assert_int_equal(profile_report_ns(&made->profile), 1500000000);
	expect(made, TRACES, &o,
	       "alloc_space of made (42), thread 18446744073709551615, allocated in 1.5 s: 3.0K ±0,"
	       " 2.0K/s, in 1 stack; one sample per 512K\n"
	       "\n"
	       "      3.0K 100.0%  main\n");
	made->profile.difference = true;
	assert_int_equal(profile_report_ns(&made->profile), 0);
	made->profile.difference = made->profile.facts.only_alloc_space = false;
	o.type = SPACE;
	o.total = 0;
	o.thread_name = "wor\nker";
	expect(made, TEXT, &o,
	       "inuse_space of made (42), thread wor\\x0aker: 0 ±0 in 1 stack; one sample per "
	       "512K\n"
	       "      flat  flat%   sum%        cum   cum%    ±flat  function\n"
	       "         0      -      -          0      -         0  main\n");
	made_free(made);
}

static void test_coverage(void **state)
{
	const struct profile_coverage tenth = { .in_use = 800 * KIB,
						.allocated = 8000 * KIB,
						.from_start = TRI_NO };
	struct made_profile *made = some_profile();
	struct profile_report_options o = usual();
	char *text;

	(void)state;
	o.coverage = &tenth;
	text = report(made, TEXT, &o, NULL);
	assert_non_null(strstr(text, "\ncovers 800K of 7.8M allocated (10%): "));
	free(text);
	o.type = PROFILE_INUSE_OBJECTS;
	text = report(made, TEXT, &o, NULL);
	assert_null(strstr(text, "covers"));
	free(text);
	made_free(made);
}

static void test_traces(void **state)
{
	struct made_profile *made = some_profile();
	struct profile_report_options o = usual();

	(void)state;
	o.node_count = 2;
	o.type = PROFILE_INUSE_OBJECTS;
	o.total = 2042;
	expect(made, TRACES, &o,
	       "inuse_objects of made (42): 2042 ±0 in 3 stacks; one sample per 512K\n"
	       "\n"
	       "      2000  97.9%  other\n"
	       "                   main\n"
	       "\n"
	       "        40   2.0%  work\n"
	       "                   main\n"
	       "\n"
	       "and 1 more; see all\n");
	made_free(made);
}

static const char tree_head[] =
	"inuse_space of made (42): 800K ±5.0K in 3 stacks; one sample per 512K\n"
	"      flat  flat%        cum   cum%    ±flat  function\n"
	"\n";
static const char work_in_tree[] = "                                  600K 100.0%  <- main\n"
				   "      400K  50.0%       600K  75.0%      3.0K  work\n"
				   "                                  200K  33.3%  -> leaf\n"
				   "\n";

static void test_tree(void **state)
{
	struct made_profile *made = some_profile();
	struct profile_report_options o = usual();
	char want[2048], *text;

	(void)state;
	o.node_count = 1;
	snprintf(want, sizeof(want), "%s%s", tree_head, work_in_tree);
	expect(made, TREE, &o, want);
	/* All matches are shown, whatever their number; calls below edge_fraction are omitted. */
	o.edge_fraction = 0.75;
	text = report(made, TREE, &o, "^work$|^main$");
	snprintf(want, sizeof(want), "%s%s%s", tree_head,
		 "                                  600K 100.0%  <- main\n"
		 "      400K  50.0%       600K  75.0%      3.0K  work\n"
		 "\n",
		 "         0   0.0%       800K 100.0%         0  main\n"
		 "                                  600K  75.0%  -> work\n"
		 "\n");
	assert_string_equal(text, want);
	free(text);
	made_free(made);
}

static void refused(const struct profile_report_options *o, const char *peek, const char *path,
		    int code, enum error id)
{
	struct made_profile *made = some_profile();
	struct err err = ERR_INIT;
	FILE *out = fopen(path, "we");

	assert_non_null(out);
	setbuf(out, NULL);
	assert_int_equal(write_report(made, TREE, o, peek, out, &err), -1);
	assert_int_equal(err.code, code);
	assert_int_equal(err.ids[0], id);
	fclose(out);
	made_free(made);
}

static void test_refused(void **state)
{
	struct profile_report_options o = usual();

	(void)state;
	refused(&o, "nobody", "/dev/null", ERR_FAILED, ERROR_NO_MATCH);
	refused(&o, "work(", "/dev/null", ERR_USAGE, ERROR_PATTERN_MALFORMED);
	refused(&o, NULL, "/dev/full", ERR_OUTPUT, ERROR_REPORT_UNWRITTEN);
	refused(&o, "work", "/dev/full", ERR_OUTPUT, ERROR_REPORT_UNWRITTEN);
}

/* A long stack in a narrow terminal, and a large share of the total in red. */
static void test_terminal(void **state)
{
	static const struct made_stack stacks[] = {
		{ "f1;f2;f3;f4;f5;f6;f7;f8", 1, 90, 0, 0 },
		{ "a_name_that_is_longer_than_the_terminal_has_columns", 1, 10, 0, 0 },
	};
	struct made_profile *made = made_profile(stacks, N(stacks));
	struct profile_report_options o = usual();
	char *text;

	(void)state;
	o.total = 100;
	text = report(made, TEXT, &o, NULL);
	assert_non_null(strstr(text, "  f8 < f7 < f6 < f5 < f4 < f3 < ...\n"));
	free(text);
	o.columns = 40;
	o.color = true;
	text = report(made, TEXT, &o, NULL);
	assert_non_null(strstr(text, "\033[31m        90  90.0%\033[0m  f8 < f7 < f6 < ...\n"));
	assert_non_null(strstr(text, "\033[1m        10  10.0%\033[0m  a_name_"));
	assert_non_null(strstr(text, "\033[2m      flat"));
	assert_null(strstr(text, "longer_than_the_terminal"));
	free(text);
	made_free(made);
}

static void test_amounts(void **state)
{
	static const struct {
		enum profile_type type;
		enum profile_unit unit;
		double amount;
		const char *want;
	} amounts[] = {
		{ SPACE, PROFILE_UNIT_AUTO, 0, "0" },
		{ SPACE, PROFILE_UNIT_AUTO, 1536, "1.5K" },
		{ SPACE, PROFILE_UNIT_AUTO, -1536, "-1.5K" },
		{ SPACE, PROFILE_UNIT_AUTO, 0.4, "0" },
		{ SPACE, PROFILE_UNIT_AUTO, 1e300, "16.0E" },
		{ SPACE, PROFILE_UNIT_B, 1536.4, "1536B" },
		{ SPACE, PROFILE_UNIT_KB, 1536, "1.50KB" },
		{ SPACE, PROFILE_UNIT_MB, 1572864, "1.50MB" },
		{ SPACE, PROFILE_UNIT_GB, -1610612736, "-1.50GB" },
		{ PROFILE_ALLOC_OBJECTS, PROFILE_UNIT_MB, 1536, "1536" },
	};

	(void)state;
	for (size_t i = 0; i < N(amounts); i++) {
		const struct profile_report_options o = { .type = amounts[i].type,
							  .unit = amounts[i].unit };
		char buf[32];

		assert_string_equal(profile_report_amount(&o, amounts[i].amount, buf, sizeof(buf)),
				    amounts[i].want);
	}
}

/* Printed as by Perl: truncated amounts, and divisions by 0. */
static void test_jeprof(void **state)
{
	static const struct made_stack stacks[] = {
		{ "main;a", 1, 1572864.75, 0, 0 },
		{ "main;b", 1, -1572864.75, 0, 0 },
	};
	struct made_profile *made = some_profile(), *nothing = made_profile(stacks, N(stacks));
	struct profile_report_options o = usual();

	(void)state;
	o.node_count = 2;
	expect(made, JEPROF, &o,
	       "Total: 0.8 MB\n"
	       "     0.4  50.0%  50.0%      0.6  75.0% work\n"
	       "     0.2  25.0%  75.0%      0.2  25.0% leaf\n");
	made_free(made);
	o = (struct profile_report_options){ .type = SPACE, .unit = PROFILE_UNIT_B };
	expect(nothing, JEPROF, &o,
	       " 1572864   +inf   +inf  1572864   +inf a\n"
	       "-1572864   -inf    nan -1572864   -inf b\n");
	made_free(nothing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),	   cmocka_unit_test(test_rows),
		cmocka_unit_test(test_difference), cmocka_unit_test(test_head),
		cmocka_unit_test(test_coverage),   cmocka_unit_test(test_traces),
		cmocka_unit_test(test_tree),	   cmocka_unit_test(test_refused),
		cmocka_unit_test(test_terminal),   cmocka_unit_test(test_amounts),
		cmocka_unit_test(test_jeprof),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
