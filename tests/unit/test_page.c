// SPDX-License-Identifier: Apache-2.0
#include "front/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *find(const char *text)
{
	size_t len;
	const char *bytes = page_bytes(&len);

	return memmem(bytes, len, text, strlen(text));
}

static void test_bytes(void **state)
{
	size_t len;
	const char *bytes = page_bytes(&len);

	(void)state;
	assert_memory_equal(bytes, "<!DOCTYPE html>", 15);
	assert_memory_equal(bytes + len - 8, "</html>\n", 8);
	assert_null(memchr(bytes, '\0', len));
}

/* The placeholders of web/assemble are replaced, and no script ends too early. */
static void test_assembled(void **state)
{
	const char *script = find("<script type=\"module\">");

	(void)state;
	assert_null(find("<!-- style -->"));
	assert_null(find("<!-- script -->"));
	assert_null(find("<!-- report -->"));
	assert_non_null(script);
	assert_ptr_equal(find("</script>"), strstr(script, "</script>\n</body>"));
	assert_null(find("\nimport "));
	assert_null(find("\nexport "));
}

/* The page loads nothing from elsewhere, and connects only to this service. */
static void test_policy(void **state)
{
	static const char *const parts[] = { "default-src 'none'; ",	 "script-src 'sha256-",
					     "style-src 'sha256-",	 "connect-src 'self'; ",
					     "base-uri 'none'; ",	 "form-action 'none'; ",
					     "frame-ancestors 'none'; ", "trusted-types 'none'" };

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strstr(page_policy(), parts[i]))
			fail_msg("%s: not in %s", parts[i], page_policy());
	assert_null(strstr(page_policy(), "unsafe"));
	assert_null(strstr(page_policy(), "http"));
	assert_null(strchr(page_policy(), '\n'));
	assert_null(find(" onclick="));
	assert_null(find(" src="));
	assert_null(find("@import"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_assembled),
		cmocka_unit_test(test_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
