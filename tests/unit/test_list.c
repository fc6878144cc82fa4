// SPDX-License-Identifier: Apache-2.0
/* Annotated source of small profiles; the numbers are worked out by hand. */
#include "profile/list.h"

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

#define HEAD "inuse_space of made (42): 1000 ±0 in 3 stacks; one sample per 512K\n"
#define COLUMNS "      flat        cum   line\n"

/* What find_source() returns, and its last request. */
struct source {
	struct profile_source is;
	char asked[64];
	uint32_t mapping;
};

static void find_source(void *ctx, const char *path, uint32_t mapping, struct profile_source *out)
{
	struct source *s = ctx;

	snprintf(s->asked, sizeof(s->asked), "%s", path);
	s->mapping = mapping;
	*out = s->is;
}

/* work() at lines 2 and 11, and at both in a recursive call. Each address has its own line. */
static struct made_profile *some_profile(void)
{
	static const struct made_stack stacks[] = {
		{ "main;work", 1, 100, 0, 0 },
		{ "main;work", 1, 300, 0, 0 },
		{ "main;work;work;leaf", 1, 600, 0, 0 },
	};
	static const uint32_t lines[] = { 2, 7, 11, 8, 3, 11, 2, 9 }; /* innermost first */
	struct made_profile *made = made_profile(stacks, 3);

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		made->lines[i].line = lines[i];
	return made;
}

static int list(struct made_profile *made, const char *pattern, struct source *source, FILE *out,
		struct err *err)
{
	const struct profile_report_options o = { .type = PROFILE_INUSE_SPACE, .total = 1000 };
	struct profile_table t;
	int ret;

	assert_int_equal(profile_table_init(&t, &made->profile, o.type, false, err), 0);
	ret = profile_list(&made->profile, &t, pattern, &o, find_source, source, out, err);
	profile_table_fini(&t);
	return ret;
}

static void expect(struct made_profile *made, const char *pattern, struct source *source,
		   const char *want)
{
	struct err err = ERR_INIT;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	source->is.len = source->is.text ? strlen(source->is.text) : 0;
	if (list(made, pattern, source, out, &err))
		fail_msg("%s", said(&err));
	fclose(out);
	assert_string_equal(text, want);
	free(text);
}

static void test_source(void **state)
{
	struct made_profile *made = some_profile();
	struct source source = { .is = { .text = "1\n2\tx\r\n3\n4\n5\n6\n7\n8\n9\n\n11\033["
						 "m\n12\n13\n14\n15\n16\n" } };

	(void)state;
	/* The 600 allocated through two calls of work() count once in its total. */
	expect(made, "^work$", &source,
	       HEAD "\n"
		    "work in made.c: flat 400, cum 1000 (100.0%)\n" COLUMNS
		    "         .          .      1  1\n"
		    "       100        700      2  2       x\n"
		    "         .          .      3  3\n"
		    "         .          .      4  4\n"
		    "         .          .      5  5\n"
		    "         .          .      6  6\n"
		    "         .          .      7  7\n"
		    "         .          .      8  8\n"
		    "         .          .      9  9\n"
		    "         .          .     10\n"
		    "       300        900     11  11\\x1b[m\n"
		    "         .          .     12  12\n"
		    "         .          .     13  13\n"
		    "         .          .     14  14\n"
		    "         .          .     15  15\n");
	assert_string_equal(source.asked, "made.c");
	assert_int_equal(source.mapping, 0);
	made_free(made);
}

/* Lines far apart; the second one is past the end of the file. */
static void test_gap(void **state)
{
	struct made_profile *made = some_profile();
	struct source source = { .is = { .text = "1\n2\n3\n4\n5\n6\n7\n8\n9", .newer = true } };

	(void)state;
	made->lines[2].line = made->lines[5].line = 40;
	expect(made, "^work$", &source,
	       HEAD "\n"
		    "work in made.c: flat 400, cum 1000 (100.0%)\n"
		    "the source is newer than the program: its lines may differ\n" COLUMNS
		    "         .          .      1  1\n"
		    "       100        700      2  2\n"
		    "         .          .      3  3\n"
		    "         .          .      4  4\n"
		    "         .          .      5  5\n"
		    "         .          .      6  6\n"
		    "                         ...\n"
		    "       300        900     40\n");
	/* Dots stand for existing lines that are omitted. */
	made->lines[2].line = made->lines[5].line = 12;
	made->lines[0].line = made->lines[6].line = 1;
	source.is = (struct profile_source){ .text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12" };
	expect(made, "^work$", &source,
	       HEAD "\n"
		    "work in made.c: flat 400, cum 1000 (100.0%)\n" COLUMNS
		    "       100        700      1  1\n"
		    "         .          .      2  2\n"
		    "         .          .      3  3\n"
		    "         .          .      4  4\n"
		    "         .          .      5  5\n"
		    "                         ...\n"
		    "         .          .      8  8\n"
		    "         .          .      9  9\n"
		    "         .          .     10  10\n"
		    "         .          .     11  11\n"
		    "       300        900     12  12\n");
	made_free(made);
}

/* Sorted by file, then by name. Without a file, no source is requested. */
static void test_no_source(void **state)
{
	struct made_profile *made = some_profile();
	struct source source = { .is = { .why = "it is gone" } };

	(void)state;
	for (size_t i = 0; i < made->symbols.n_functions; i++)
		if (!strcmp(made->functions[i].name, "main"))
			made->functions[i].file = "a.c";
		else if (!strcmp(made->functions[i].name, "leaf"))
			made->functions[i].file = NULL;
	expect(made, "main|leaf", &source,
	       HEAD "\n"
		    "main in a.c: flat 0, cum 1000 (100.0%)\n"
		    "no source: it is gone\n" COLUMNS "         .        100      7\n"
		    "         .        300      8\n"
		    "         .        600      9\n"
		    "\n"
		    "leaf: flat 600, cum 600 (60.0%)\n"
		    "no source: debug data names no file\n" COLUMNS
		    "       600        600      3\n");
	assert_string_equal(source.asked, "a.c");
	made_free(made);
}

static void refused(struct made_profile *made, const char *pattern, const char *path, int code,
		    enum error id)
{
	struct source source = { .is = { .why = "" } };
	struct err err = ERR_INIT;
	FILE *out = fopen(path, "we");

	assert_non_null(out);
	setbuf(out, NULL);
	assert_int_equal(list(made, pattern, &source, out, &err), -1);
	assert_int_equal(err.code, code);
	assert_int_equal(err.ids[0], id);
	fclose(out);
}

static void test_refused(void **state)
{
	struct made_profile *made = some_profile();

	(void)state;
	refused(made, "nobody", "/dev/null", ERR_FAILED, ERROR_NO_MATCH);
	refused(made, "work[", "/dev/null", ERR_USAGE, ERROR_PATTERN_MALFORMED);
	refused(made, "work", "/dev/full", ERR_OUTPUT, ERROR_REPORT_UNWRITTEN);
	/* The name no longer occurs in any stack. */
	made->profile.n_stacks = 2;
	refused(made, "leaf", "/dev/null", ERR_FAILED, ERROR_NO_MATCH);
	made_free(made);
}

/* A line of any length, with tabs up to its end, is cut to the part that is shown. */
static void test_long_line(void **state)
{
	enum { LONG = 100000, SHOWN = 512 };
	struct made_profile *made = some_profile();
	char *text = malloc(LONG + 1), *got = NULL, *line;
	struct source source = { .is = { .text = text, .len = LONG } };
	struct err err = ERR_INIT;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	(void)state;
	memset(text, '\t', LONG);
	memset(text + 10, 'x', 300);
	text[LONG] = '\0';
	made->profile.n_stacks = 1;
	made->lines[0].line = 1;
	assert_int_equal(list(made, "work", &source, out, &err), 0);
	fclose(out);
	line = strstr(got, "       100        100      1  ");
	assert_non_null(line);
	line += strlen("       100        100      1  ");
	assert_int_equal(strcspn(line, "\n"), SHOWN);
	assert_int_equal(strspn(line, " "), 80);
	assert_int_equal(strspn(line + 80, "x"), 300);
	free(got);
	free(text);
	made_free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_source),	  cmocka_unit_test(test_gap),
		cmocka_unit_test(test_no_source), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_long_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
