// SPDX-License-Identifier: Apache-2.0
#include "profile/format/private.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "tests/unit/made_page.h"
#include "tests/unit/made_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct made_stack three[] = {
	{ "main;work+inlined;malloc", 2, 100.5, 0, 0 },
	{ "main;work+inlined;deeper", 1, 50, 0, 0 },
	{ "main", 1, 1e12, 0, 0 },
};

/* Returns the page of a profile; the caller frees it. */
static char *page_of(const struct profile *profile, const char *title)
{
	const struct profile_format_options options = { .title = title };
	char *page = NULL;
	size_t len;
	FILE *out = open_memstream(&page, &len);
	struct err err;

	assert_non_null(out);
	assert_int_equal(format_html(profile, &options, out, &err), 0);
	assert_int_equal(fclose(out), 0);
	return page;
}

static void test_functions(void **state)
{
	struct made_profile *m = made_profile(three, 3);
	_cleanup_(cleanup_free) char *page = NULL;
	_cleanup_(json_close) struct json_object *doc = NULL;

	(void)state;
	/* deeper(), and one of the three addresses in main() */
	m->addresses[3].mapping = PROFILE_NONE;
	m->addresses[m->profile.n_addresses - 1].mapping = PROFILE_NONE;
	m->functions[1].file = NULL;
	page = page_of(&m->profile, NULL);
	doc = data_in(page);
	assert_string_equal(member(doc, "/functions/name"),
			    "[\"inlined\",\"work\",\"main\",\"deeper\",\"main\"]");
	assert_string_equal(member(doc, "/functions/module"), "[0,0,0,1,1]");
	assert_string_equal(member(doc, "/functions/file"), "[-1,0,0,0,0]");
	assert_string_equal(member(doc, "/files"), "[\"made.c\"]");
	assert_string_equal(member(doc, "/modules/0"),
			    "{\"name\":\"made\",\"path\":\"\\/usr\\/bin\\/made\","
			    "\"build_id\":\"0123456789abcdef\"}");
	assert_string_equal(member(doc, "/modules/1/name"), "\"[unknown]\"");
	made_free(m);
}

static void test_stacks(void **state)
{
	struct made_profile *m = made_profile(three, 3);
	_cleanup_(cleanup_free) char *page = NULL;
	_cleanup_(json_close) struct json_object *doc = NULL;

	(void)state;
	m->stacks[0].variance[PROFILE_INUSE_SPACE] = 4;
	page = page_of(&m->profile, NULL);
	doc = data_in(page);
	assert_string_equal(member(doc, "/stacks/depth"), "[1,3,4]");
	assert_string_equal(member(doc, "/stacks/shared"), "[0,1,3]");
	assert_string_equal(member(doc, "/stacks/functions"), "[2,1,0,3]");
	assert_string_equal(member(doc, "/values"), "{\"inuse_objects\":[1,2,1],"
						    "\"inuse_space\":[1e+12,100.5,50]}");
	assert_string_equal(member(doc, "/variances/inuse_space"), "[0,4,0]");
	made_free(m);
}

static void test_facts(void **state)
{
	static const struct made_stack some[] = { { "main", 1, 2, 3, 4 }, { "work", 1, -2, 3, 4 } };
	struct made_profile *m = made_profile(some, 2);
	_cleanup_(cleanup_free) char *page = NULL;
	_cleanup_(json_close) struct json_object *doc = NULL;

	(void)state;
	m->profile.facts.version = "5.3.0";
	m->profile.facts.time_ns = 1700000000123456789;
	page = page_of(&m->profile, "two dumps");
	doc = data_in(page);
	assert_string_equal(member(doc, "/facts"),
			    "{\"title\":\"two dumps\",\"comm\":\"made\",\"host\":null,"
			    "\"version\":\"5.3.0\",\"pid\":42,\"time_ms\":1700000000123,"
			    "\"duration_ms\":0,\"period\":524288,\"difference\":true}");
	assert_string_equal(member(doc, "/values/alloc_space"), "[4,4]");
	assert_string_equal(member(doc, "/values/inuse_space"), "[2,-2]");
	made_free(m);
}

/* The markup does not depend on the data, so the policy of the page still matches it. */
static void test_hostile(void **state)
{
	static const char name[] = "</script><img src=x onerror=alert(1)>\xff\xe2\x80\xa8\"\\<!--";
	static const struct made_stack some[] = { { name, 1, 2, 0, 0 } };
	struct made_profile *m = made_profile(some, 1);
	_cleanup_(cleanup_free) char *page = NULL;
	_cleanup_(json_close) struct json_object *doc = NULL;
	struct json_object *value;

	(void)state;
	m->mapping.path = "/tmp/<b>\n\x1b[31m";
	m->profile.facts.comm = "</title><!--";
	page = page_of(&m->profile, NULL);
	doc = data_in(page);
	assert_int_equal(json_pointer_get(doc, "/functions/name/0", &value), 0);
	assert_string_equal(json_object_get_string(value),
			    "</script><img src=x onerror=alert(1)>\\xff\\xe2\\x80\\xa8\"\\<!--");
	assert_int_equal(json_pointer_get(doc, "/modules/0/path", &value), 0);
	assert_string_equal(json_object_get_string(value), "/tmp/<b>\\x0a\\x1b[31m");
	assert_int_equal(json_pointer_get(doc, "/facts/comm", &value), 0);
	assert_string_equal(json_object_get_string(value), "</title><!--");
	assert_non_null(strstr(page, "Content-Security-Policy"));
	assert_null(strstr(page, "<img"));
	assert_non_null(strstr(page, "</script>\n</body>\n</html>\n"));
	made_free(m);
}

/* Stacks with the same names are merged into one. */
static void test_same(void **state)
{
	static const struct made_stack same[] = { { "main;work", 1, 10, 0, 0 },
						  { "main;work", 2, 30, 0, 0 },
						  { "main", 1, 5, 0, 0 } };
	struct made_profile *m = made_profile(same, 3);
	_cleanup_(cleanup_free) char *page = NULL;
	_cleanup_(json_close) struct json_object *doc = NULL;

	(void)state;
	page = page_of(&m->profile, NULL);
	doc = data_in(page);
	assert_string_equal(member(doc, "/stacks/depth"), "[1,2]");
	assert_string_equal(member(doc, "/stacks/shared"), "[0,1]");
	assert_string_equal(member(doc, "/stacks/functions"), "[1,0]");
	assert_string_equal(member(doc, "/values/inuse_space"), "[5,40]");
	made_free(m);
}

static void test_title(void **state)
{
	struct made_profile *m = made_profile(three, 3);
	_cleanup_(cleanup_free) char *plain = NULL;
	_cleanup_(cleanup_free) char *timed = NULL;

	(void)state;
	m->profile.facts.comm = NULL;
	m->profile.facts.time_ns = 0;
	plain = page_of(&m->profile, NULL);
	assert_non_null(strstr(plain, "<title>made: heap profile</title>"));
	m->profile.facts.comm = "</title><!--";
	m->profile.facts.time_ns = 1700000000123456789;
	m->profile.difference = true;
	timed = page_of(&m->profile, NULL);
	assert_non_null(strstr(timed, "<title>&lt;/title&gt;&lt;!--: difference of heap profiles, "
				      "2023-11-14 22:13:20 UTC</title>"));
	made_free(m);
}

/* A difference is marked as such even if all that is left of it has grown. */
static void test_difference(void **state)
{
	struct made_profile *m = made_profile(three, 3);
	_cleanup_(cleanup_free) char *page = NULL;
	_cleanup_(json_close) struct json_object *doc = NULL;

	(void)state;
	m->profile.difference = true;
	page = page_of(&m->profile, NULL);
	doc = data_in(page);
	assert_string_equal(member(doc, "/facts/difference"), "true");
	made_free(m);
}

static void test_empty(void **state)
{
	struct made_profile *m = made_profile(NULL, 0);
	_cleanup_(cleanup_free) char *page = page_of(&m->profile, NULL);
	_cleanup_(json_close) struct json_object *doc = data_in(page);

	(void)state;
	assert_string_equal(member(doc, "/stacks"),
			    "{\"depth\":[],\"shared\":[],\"functions\":[]}");
	assert_string_equal(member(doc, "/values/inuse_space"), "[]");
	made_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),  cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_facts),	   cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_difference), cmocka_unit_test(test_empty),
		cmocka_unit_test(test_same),	   cmocka_unit_test(test_title),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
