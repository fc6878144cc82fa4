// SPDX-License-Identifier: Apache-2.0
#include "ops/stats_text.h"
#include "tests/unit/said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OF(pid, comm, text)                             \
	{                                               \
		(pid), (comm), (text), sizeof(text) - 1 \
	}

static void test_several(void **state)
{
	static const struct stats_of v[] = {
		OF(7, "one",
		   "{\"jemalloc\": {\"version\": \"5.3.0\", \"stats\": "
		   "{\"allocated\": 100, \"active\": 200}}}"),
		OF(8, "t\"wo",
		   "{\"jemalloc\": {\"version\": \"5.2.1\", \"stats\": {\"allocated\": 300}}}"),
	};
	static const char wanted[] =
		"# HELP jemalloc_info The jemalloc in use\n"
		"# TYPE jemalloc_info gauge\n"
		"jemalloc_info{pid=\"7\",comm=\"one\",version=\"5.3.0\"} 1\n"
		"jemalloc_info{pid=\"8\",comm=\"t\\\"wo\",version=\"5.2.1\"} 1\n"
		"# HELP jemalloc_allocated_bytes Bytes allocated by the application\n"
		"# TYPE jemalloc_allocated_bytes gauge\n"
		"jemalloc_allocated_bytes{pid=\"7\",comm=\"one\"} 100\n"
		"jemalloc_allocated_bytes{pid=\"8\",comm=\"t\\\"wo\"} 300\n"
		"# HELP jemalloc_active_bytes Bytes in pages that hold allocations\n"
		"# TYPE jemalloc_active_bytes gauge\n"
		"jemalloc_active_bytes{pid=\"7\",comm=\"one\"} 200\n";
	struct err err = ERR_INIT;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	if (stats_text_write(OPS_STATS_PROM, v, 2, out, &err))
		fail_msg("%s", said(&err));
	fclose(out);
	assert_string_equal(text, wanted);
	free(text);
}

static void test_openmetrics(void **state)
{
	static const struct stats_of of = OF(7, "one",
					     "{\"jemalloc\": {\"version\": \"5.3.0\", \"stats\": "
					     "{\"active\": 1, \"zero_reallocs\": 2}}}");
	struct err err = ERR_INIT;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	if (stats_text_check(OPS_STATS_OPENMETRICS, &of, &err) ||
	    stats_text_write(OPS_STATS_OPENMETRICS, &of, 1, out, &err))
		fail_msg("%s", said(&err));
	fclose(out);
	assert_string_equal(text,
			    "# HELP jemalloc The jemalloc in use\n"
			    "# TYPE jemalloc info\n"
			    "jemalloc_info{pid=\"7\",comm=\"one\",version=\"5.3.0\"} 1\n"
			    "# HELP jemalloc_active_bytes Bytes in pages that hold allocations\n"
			    "# TYPE jemalloc_active_bytes gauge\n"
			    "jemalloc_active_bytes{pid=\"7\",comm=\"one\"} 1\n"
			    "# HELP jemalloc_zero_reallocs Calls of realloc() with a size of zero\n"
			    "# TYPE jemalloc_zero_reallocs counter\n"
			    "jemalloc_zero_reallocs_total{pid=\"7\",comm=\"one\"} 2\n");
	free(text);
}

static void test_bad(void **state)
{
	static const struct stats_of good = OF(7, "one", "{\"jemalloc\": {}}");
	static const struct stats_of bad = OF(8, "two", "{\"jemalloc\": {}");
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(stats_text_check(OPS_STATS_PROM, &good, &err), 0);
	assert_int_equal(stats_text_check(OPS_STATS_TEXT, &bad, &err), 0);
	assert_int_equal(stats_text_check(OPS_STATS_JSON, &bad, &err), -1);
	assert_int_equal(err.ids[0], ERROR_STATS_MALFORMED);
}

/* What a terminal would obey is refused, wherever it is; tabs and newlines are jemalloc's own. */
static void test_control_characters(void **state)
{
	static const struct {
		struct stats_of of;
		enum error id;
	} v[] = {
		{ OF(1, "tab", "{\n\t\"jemalloc\": {\"a\": \"\u00e9\"}}\n"), 0 },
		{ OF(2, "carriage return", "{\"jemalloc\": {}}\r\n"),
		  ERROR_STATS_CONTROL_CHARACTER },
		{ OF(3, "ESC", "{\"jemalloc\": {\"a\": \"\033\"}}"),
		  ERROR_STATS_CONTROL_CHARACTER },
		{ OF(4, "DEL", "{\"jemalloc\": {\"a\": \"\x7f\"}}"),
		  ERROR_STATS_CONTROL_CHARACTER },
		{ OF(5, "CSI", "{\"jemalloc\": {\"a\": \"\xc2\x9b\"}}"),
		  ERROR_STATS_CONTROL_CHARACTER },
		{ OF(6, "at the end", "{\"jemalloc\": {}}\xc2\x80"),
		  ERROR_STATS_CONTROL_CHARACTER },
		{ OF(7, "not one", "{\"jemalloc\": {}}\xc2"), ERROR_STATS_MALFORMED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct err err = ERR_INIT;

		assert_int_equal(stats_text_check(OPS_STATS_JSON, &v[i].of, &err),
				 v[i].id ? -1 : 0);
		if (err.ids[0] != v[i].id)
			fail_msg("%s: %s", v[i].of.comm, said(&err));
	}
}

/* Members whose type is not the one that jemalloc writes are omitted. */
static void test_other_types(void **state)
{
	static const struct stats_of v[] = {
		OF(7, "one",
		   "{\"jemalloc\": {\"version\": null, \"stats\": [], \"arenas\": null}}"),
		OF(8, "two", "{\"jemalloc\": {\"version\": {}, \"stats\": {\"allocated\": null}}}"),
		OF(9, "three", "{\"jemalloc\": null}"),
	};
	struct err err = ERR_INIT;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	if (stats_text_write(OPS_STATS_PROM, v, 3, out, &err))
		fail_msg("%s", said(&err));
	fclose(out);
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_several),	    cmocka_unit_test(test_openmetrics),
		cmocka_unit_test(test_bad),	    cmocka_unit_test(test_control_characters),
		cmocka_unit_test(test_other_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
