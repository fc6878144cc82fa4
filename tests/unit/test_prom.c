// SPDX-License-Identifier: Apache-2.0
#include "base/prom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_head(bool openmetrics, const char *name, enum prom_type type, const char *wanted)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	prom_head(out, openmetrics, name, type, "What it is");
	fclose(out);
	assert_string_equal(text, wanted);
	free(text);
}

static void test_head(void **state)
{
	(void)state;
	assert_head(false, "a_bytes", PROM_GAUGE,
		    "# HELP a_bytes What it is\n# TYPE a_bytes gauge\n");
	assert_head(true, "a_bytes", PROM_GAUGE,
		    "# HELP a_bytes What it is\n# TYPE a_bytes gauge\n");
	assert_head(false, "a_total", PROM_COUNTER,
		    "# HELP a_total What it is\n# TYPE a_total counter\n");
	assert_head(true, "a_total", PROM_COUNTER, "# HELP a What it is\n# TYPE a counter\n");
	assert_head(false, "a_info", PROM_INFO, "# HELP a_info What it is\n# TYPE a_info gauge\n");
	assert_head(true, "a_info", PROM_INFO, "# HELP a What it is\n# TYPE a info\n");
}

static void assert_label(const char *raw, const char *wanted)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	prom_label(out, "name", raw);
	fclose(out);
	assert_string_equal(text, wanted);
	free(text);
}

static void test_label(void **state)
{
	char big[5000], *text = NULL;
	size_t len;
	FILE *out;

	(void)state;
	assert_label("", "name=\"\"");
	assert_label("a b{c=\"d\"}", "name=\"a b{c=\\\"d\\\"}\"");
	assert_label("\\n\\", "name=\"\\\\n\\\\\"");
	assert_label("a\nb\tc", "name=\"a\\\\x0ab\\\\x09c\"");
	assert_label("l\xc3\xbc", "name=\"l\xc3\xbc\"");
	assert_label("l\xc3", "name=\"l\\\\xc3\"");
	/* A value that is too long is cut between characters, and still terminated. */
	memset(big, '"', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	out = open_memstream(&text, &len);
	prom_label(out, "name", big);
	fclose(out);
	assert_string_equal(text + len - 3, "\\\"\"");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_label),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
