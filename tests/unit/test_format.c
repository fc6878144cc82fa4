// SPDX-License-Identifier: Apache-2.0
#include "profile/format/format.h"
#include "tests/unit/made_format.h"

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < PROFILE_FORMATS; i++) {
		const struct profile_format_info *info =
			profile_format_info((enum profile_format)i);
		char path[64];

		assert_int_equal(profile_format_by_name(info->name), i);
		assert_int_equal(info->suffix[0], '.');
		snprintf(path, sizeof(path), "a/b.heap%s", info->suffix);
		assert_int_equal(profile_format_by_path(path), i);
	}
	assert_int_equal(profile_format_by_name("pprofs"), PROFILE_FORMAT_NONE);
	assert_int_equal(profile_format_by_path("made.heap"), PROFILE_FORMAT_NONE);
	assert_int_equal(profile_format_by_path(".svg"), PROFILE_FORMAT_NONE);
}

static void test_folded(void **state)
{
	static const struct made_stack stacks[] = {
		{ "main;b;malloc", 1, 100, 0, 0 },     { "main;a+inlined;malloc", 2, 200, 0, 0 },
		{ "main;b;malloc", 10, 1000, 0, 0 },   { "main;b;c;malloc", 1, 7, 0, 0 },
		{ "main;nothing;malloc", 1, 0, 0, 0 },
	};
	struct profile_format_options options = space;
	char *text;

	(void)state;
	text = written(stacks, N(stacks), PROFILE_FORMAT_FOLDED, &options);
	assert_string_equal(text, "main;a;inlined 200\nmain;b 1100\nmain;b;c 7\n");
	free(text);
	options.type = PROFILE_INUSE_OBJECTS;
	options.keep_allocator = true;
	text = written(stacks, N(stacks), PROFILE_FORMAT_FOLDED, &options);
	assert_string_equal(text, "main;a;inlined;malloc 2\nmain;b;c;malloc 1\n"
				  "main;b;malloc 11\nmain;nothing;malloc 1\n");
	free(text);
}

/*
 * Code of a function in an included file is another function with the same name: one line for both.
 */
static void test_same_name(void **state)
{
	static const struct made_stack stacks[] = { { "main;a", 1, 100, 0, 0 },
						    { "main;b", 1, 10, 0, 0 } };
	struct made_profile *made = made_profile(stacks, N(stacks));
	struct err err = ERR_INIT;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_string_equal(made->functions[2].name, "b");
	strcpy((char *)made->functions[2].name, "a");
	made->functions[2].file = "included.h";
	assert_int_equal(profile_write(&made->profile, PROFILE_FORMAT_FOLDED, &space, out, &err),
			 0);
	fclose(out);
	assert_string_equal(text, "main;a 110\n");
	free(text);
	made_free(made);
}

/* Rounding errors are carried over to later lines. */
static void test_rounding(void **state)
{
	static const struct made_stack stacks[] = {
		{ "a", 0, 0.4, 0, 0 }, { "b", 0, 0.4, 0, 0 },  { "c", 0, 0.4, 0, 0 },
		{ "d", 0, 3, 0, 0 },   { "e", 0, -9.2, 0, 0 }, { "f", 0, 1e300, 0, 0 }
	};
	char *text;

	(void)state;
	text = written(stacks, N(stacks), PROFILE_FORMAT_FOLDED, &space);
	assert_string_equal(text, "b 1\nd 3\ne -9\nf 4000000000000000005\n");
	free(text);
}

static void test_hostile_folded(void **state)
{
	static const struct made_stack stacks[] = { { "a\nb 12;c\xff\x1b[31m", 1, 5, 0, 0 } };
	char *name = calloc(1, 100001), *text;
	struct made_stack endless = { name, 1, 5, 0, 0 };

	(void)state;
	text = written(stacks, 1, PROFILE_FORMAT_FOLDED, &space);
	assert_string_equal(text, "a\\x0ab 12;c\\xff\\x1b[31m 5\n");
	free(text);
	memset(name, 'x', 100000);
	text = written(&endless, 1, PROFILE_FORMAT_FOLDED, &space);
	assert_in_range(strlen(text), 2000, 2060);
	assert_non_null(strstr(text, "xxx... 5\n"));
	free(text);
	free(name);
}

static void test_svg(void **state)
{
	static const struct made_stack stacks[] = {
		{ "main;b;malloc", 1, 3 << 20, 0, 0 },
		{ "main;a;c;malloc", 2, 1 << 20, 0, 0 },
		{ "main;gone", -2, -(1 << 20), 0, 0 },
		{ "main;small;smaller", 1, 1000, 0, 0 },
	};
	char *text = written(stacks, N(stacks), PROFILE_FORMAT_SVG, &space);

	(void)state;
	assert_int_equal(count(text, "<g class=\"f\">"), 5);
	assert_non_null(
		strstr(text, "made: inuse_space 4.0M; what shrank, by 1.0M, is not shown</text>"));
	assert_non_null(strstr(text, "pid 42, one sample in 512K, 1970-01-01 00:00:00 UTC"));
	assert_non_null(strstr(text, "<title>b\n3.0M (74.98 %)</title>"));
	assert_non_null(strstr(text, ">2 frames below 0.1 % are left out<"));
	assert_null(strstr(text, "gone"));
	free(text);
	text = written(stacks, 0, PROFILE_FORMAT_SVG, &space);
	assert_int_equal(count(text, "<g class=\"f\">"), 0);
	assert_non_null(strstr(text, "inuse_space 0"));
	free(text);
}

static void test_hostile_svg(void **state)
{
	static const struct made_stack stacks[] = {
		{ "</title></svg><script>x()</script>&\"]]>\xc3\xa9\xff;main", 1, 5, 0, 0 }
	};
	struct profile_format_options options = space;
	char *text;

	(void)state;
	options.title = "<b>&";
	text = written(stacks, N(stacks), PROFILE_FORMAT_SVG, &options);
	assert_int_equal(count(text, "<script>"), 1);
	assert_int_equal(count(text, "]]>"), 1);
	assert_non_null(strstr(text,
			       "&lt;/title&gt;&lt;/svg&gt;&lt;script&gt;x()&lt;/script&gt;&amp;"
			       "&quot;]]&gt;\xc3\xa9\\xff\n"));
	assert_non_null(strstr(text, ">&lt;b&gt;&amp;: inuse_space 5<"));
	free(text);
}

static void test_full(void **state)
{
	static const struct made_stack stacks[] = { { "a", 1, 5, 0, 0 } };
	struct made_profile *made = made_profile(stacks, 1);
	struct err err = ERR_INIT;
	FILE *out = fopen("/dev/full", "w");

	(void)state;
	setvbuf(out, NULL, _IONBF, 0);
	for (size_t i = 0; i < PROFILE_FORMATS; i++) {
		assert_int_equal(profile_write(&made->profile, (enum profile_format)i, &space, out,
					       &err),
				 -1);
		assert_int_equal(err.code, ERR_OUTPUT);
	}
	fclose(out);
	made_free(made);
}

/*
 * "--" only separates calls; the allocator is named malloc; an address in no mapping has no line.
 */
static void test_symbols(void **state)
{
	static const struct made_stack stacks[] = {
		{ "main;work+inner+innermost;malloc", 1, 1, 0, 0 },
		{ "It::operator--()+b\nc;lost", 1, 1, 0, 0 },
	};
	struct made_profile *made = made_profile(stacks, N(stacks));
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	strcpy((char *)made->functions[0].name, "gulp");
	made->addresses[3].mapping = PROFILE_NONE;
	profile_write_symbols(&made->profile, out);
	fclose(out);
	assert_string_equal(text, "0x0000000000401000\tmalloc\n"
				  "0x0000000000401010\twork--inner--innermost\n"
				  "0x0000000000401020\tmain\n"
				  "0x0000000000401040\tIt::operator- -()--b c\n");
	free(text);
	made_free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),	       cmocka_unit_test(test_folded),
		cmocka_unit_test(test_rounding),       cmocka_unit_test(test_same_name),
		cmocka_unit_test(test_hostile_folded), cmocka_unit_test(test_svg),
		cmocka_unit_test(test_hostile_svg),    cmocka_unit_test(test_full),
		cmocka_unit_test(test_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
