// SPDX-License-Identifier: Apache-2.0
/* The page of several profiles: its contents, and the limit of its size. */
#include "profile/format/series_page.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "tests/unit/made_page.h"
#include "tests/unit/made_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PROFILES 3
#define FRAME 200000 /* maximum size of the page without its data */

/* A series in which every stack grows from profile to profile. */
struct made_series {
	struct made_profile *made;
	struct profile_series series;
	struct profile_series_row rows[PROFILES];
	double seconds[PROFILES], curve[PROFILES];
};

static void make(struct made_series *s, const struct made_stack *stacks, size_t n)
{
	*s = (struct made_series){ .made = made_profile(stacks, n) };
	s->series.all = s->made->profile;
	s->series.type = PROFILE_INUSE_SPACE;
	s->series.rows = s->rows;
	s->series.n = PROFILES;
	for (size_t i = 0; i < PROFILES; i++) {
		s->seconds[i] = 60.0 * (double)i;
		s->rows[i].n_stacks = n;
		s->rows[i].value = calloc(n, sizeof(double));
		s->rows[i].variance = calloc(n, sizeof(double));
		for (size_t k = 0; k < n; k++) {
			s->rows[i].value[k] = stacks[k].bytes * (double)(i + 1);
			s->rows[i].variance[k] = 4;
		}
	}
}

static void unmake(struct made_series *s)
{
	for (size_t i = 0; i < PROFILES; i++) {
		free(s->rows[i].value);
		free(s->rows[i].variance);
	}
	made_free(s->made);
}

/* The page; the caller frees it. */
static char *page_of(struct made_series *s, size_t *len)
{
	static const char *const summary[] = { "one \"leak\" </script>", NULL };
	const struct profile_leak leak = { .line = { PROFILE_NONE, 0 } };
	const struct profile_leaks found = { .curves = s->curve };
	const struct series_grower grower = { &leak, true, "1/h", "0 to 2", "from 1", "0.5", "f" };
	const struct series_page page = { .series = &s->series,
					  .found = &found,
					  .seconds = s->seconds,
					  .growers = &grower,
					  .n_growers = 1,
					  .summary = summary };
	char *bytes = NULL;
	FILE *out = open_memstream(&bytes, len);
	struct err err;

	assert_non_null(out);
	assert_int_equal(series_page_write(&page, out, &err), 0);
	assert_int_equal(fclose(out), 0);
	return bytes;
}

static void test_whole(void **state)
{
	static const struct made_stack stacks[] = { { "main;a", 1, 10.4, 0, 0 },
						    { "main;b", 1, 20.4, 0, 0 },
						    { "main;b", 1, 5, 0, 0 } };
	_cleanup_(json_close) struct json_object *doc = NULL;
	_cleanup_(cleanup_free) char *page = NULL;
	struct made_series s;
	size_t len;

	(void)state;
	make(&s, stacks, 3);
	page = page_of(&s, &len);
	doc = data_in(page);
	assert_string_equal(member(doc, "/stacks/depth"), "[2,2]");
	assert_string_equal(member(doc, "/series/left_out"), "{\"stacks\":0,\"moments\":0}");
	/* rounded to whole bytes; the exact total is 35.8 */
	assert_string_equal(member(doc, "/series/moments/0/value"), "[10,26]");
	assert_string_equal(member(doc, "/series/moments/0/variance"), "[4,8]");
	assert_string_equal(member(doc, "/series/moments/0/time_ms"), "null");
	assert_string_equal(member(doc, "/series/total"), "[36,72,107]");
	assert_string_equal(member(doc, "/series/summary/0"), "\"one \\\"leak\\\" <\\/script>\"");
	assert_string_equal(member(doc, "/series/growers/0/stack"), "0");
	assert_string_equal(member(doc, "/series/growers/0/curve"), "[0,0,0]");
	unmake(&s);
}

/* Two thousand long names, of letters that are escaped as six bytes each: 24 MB in total. */
static void test_bound(void **state)
{
	enum { STACKS = 2000, LETTERS = 2000 };
	struct made_stack *stacks = calloc(STACKS, sizeof(*stacks));
	_cleanup_(json_close) struct json_object *doc = NULL;
	_cleanup_(cleanup_free) char *page = NULL;
	struct json_object *left, *total, *values;
	struct made_series s;
	double sum = 0;
	size_t len;

	(void)state;
	for (size_t i = 0; i < STACKS; i++) {
		char *name = malloc(LETTERS + 1);

		memset(name, '<', LETTERS);
		name[LETTERS] = '\0';
		snprintf(name, 8, "%05zu<<", i);
		name[7] = '<';
		stacks[i] = (struct made_stack){ name, 1, (double)(i + 1), 0, 0 };
	}
	make(&s, stacks, STACKS);
	page = page_of(&s, &len);
	assert_true(len <= SERIES_PAGE_MAX + FRAME);
	doc = data_in(page);
	assert_int_equal(json_pointer_get(doc, "/series/left_out/stacks", &left), 0);
	assert_int_equal(json_object_get_int(left), 1000);
	assert_int_equal(json_pointer_get(doc, "/series/moments/2/value", &values), 0);
	assert_int_equal(json_object_array_length(values), 1001);
	for (size_t i = 0; i < 1001; i++)
		sum += json_object_get_double(json_object_array_get_idx(values, i));
	assert_int_equal(json_pointer_get(doc, "/series/total/2", &total), 0);
	assert_true(sum == json_object_get_double(total));
	for (size_t i = 0; i < STACKS; i++)
		free((char *)stacks[i].calls);
	free(stacks);
	unmake(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_whole),
					    cmocka_unit_test(test_bound) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
