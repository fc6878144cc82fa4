// SPDX-License-Identifier: Apache-2.0
/* Service names, the output of systemctl show, and drop-ins, as in systemd 252. */
#include "ops/unit/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum error refusal(const char *given)
{
	char name[UNIT_NAME_SIZE];
	struct err err = ERR_INIT;

	return unit_name(given, name, &err) ? err.ids[0] : ERROR_NONE;
}

static void test_name(void **state)
{
	static const char *const names[][2] = {
		{ "redis", "redis.service" },
		{ "redis.service", "redis.service" },
		{ "a.b", "a.b.service" },
		{ "foo@bar", "foo@bar.service" },
		{ "foo@a.b.service", "foo@a.b.service" },
		{ "a\\x2db:c_d", "a\\x2db:c_d.service" },
	};
	static const char *const invalid[] = { "",    "/",   "a/b",  "..",   ".service",
					       "a b", "a\n", "a;b",  "$(x)", "*",
					       "@a",  "-é",  "a\"b", "a%n",  "a\t" };
	char long_name[UNIT_NAME_SIZE], name[UNIT_NAME_SIZE];
	struct err err = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_int_equal(unit_name(names[i][0], name, &err), 0);
		assert_string_equal(name, names[i][1]);
	}
	for (size_t i = 0; i < sizeof(invalid) / sizeof(*invalid); i++)
		assert_int_equal(refusal(invalid[i]), ERROR_UNIT_NAME_INVALID);
	assert_int_equal(refusal("a@"), ERROR_UNIT_IS_TEMPLATE);
	assert_int_equal(refusal("a@.service"), ERROR_UNIT_IS_TEMPLATE);
	assert_int_equal(refusal("a.socket"), ERROR_UNIT_NO_SERVICE);
	assert_int_equal(refusal("session-1.scope"), ERROR_UNIT_NO_SERVICE);
	memset(long_name, 'a', sizeof(long_name));
	long_name[247] = '\0';
	assert_int_equal(refusal(long_name), ERROR_NONE);
	long_name[247] = 'a';
	long_name[248] = '\0';
	assert_int_equal(refusal(long_name), ERROR_UNIT_NAME_INVALID);
}

/* Printed by systemctl of systemd 252. */
static const char shown[] =
	"MainPID=0\n"
	"ControlGroup=\n"
	"Environment=MALLOC_CONF=narenas:2 \"B=a b\" \"C=q\\\"uo'te\\\\x\" \"D=dol\\$lar %h "
	"/root\" "
	"\"E=tab\\tx\" \"F=line\\nx\" G=ü \"H=*\" MALLOC=a=b I= \"J=semi;x\" \"K=back\\`x\"\n"
	"EnvironmentFiles=/etc/default/none (ignore_errors=yes)\n"
	"EnvironmentFiles=/etc/default/redis* (ignore_errors=no)\n"
	"UnsetEnvironment=XX YY=1\n"
	"Id=redis-server.service\n"
	"LoadState=loaded\n"
	"Transient=no\n";

static void assert_listed(const char *list, const char *variable, const char *value)
{
	char buf[64] = "as it was";

	assert_true(unit_list_get(list, variable, buf, sizeof(buf)));
	assert_string_equal(buf, value);
}

static void test_shown(void **state)
{
	char list[1024];
	const char *at = shown;

	(void)state;
	unit_property(shown, "Id", list, sizeof(list));
	assert_string_equal(list, "redis-server.service");
	unit_property(shown, "ControlGroup", list, sizeof(list));
	assert_string_equal(list, "");
	unit_property(shown, "Pid", list, sizeof(list));
	assert_string_equal(list, "");
	unit_property(shown, "Transient", list, 3);
	assert_string_equal(list, "no");
	unit_property(shown, "Transient", list, 2);
	assert_string_equal(list, "");
	assert_true(unit_property_next(&at, "EnvironmentFiles", list, sizeof(list)));
	assert_string_equal(list, "/etc/default/none (ignore_errors=yes)");
	assert_true(unit_property_next(&at, "EnvironmentFiles", list, sizeof(list)));
	assert_string_equal(list, "/etc/default/redis* (ignore_errors=no)");
	assert_false(unit_property_next(&at, "EnvironmentFiles", list, sizeof(list)));
	unit_property("A=1\nId=b", "Id", list, sizeof(list));
	assert_string_equal(list, "b");
	/* Before systemd 250, newlines in a value were printed unescaped. */
	unit_property("Environment=A=1 \"B=\nId=x\n\"\nId=b\n", "Id", list, sizeof(list));
	assert_string_equal(list, "b");
}

static void test_list(void **state)
{
	char list[1024], buf[8];

	(void)state;
	unit_property(shown, "Environment", list, sizeof(list));
	assert_listed(list, "MALLOC_CONF", "narenas:2");
	assert_listed(list, "B", "a b");
	assert_listed(list, "C", "q\"uo'te\\x");
	assert_listed(list, "D", "dol$lar %h /root");
	assert_listed(list, "E", "tab\tx");
	assert_listed(list, "F", "line\nx");
	assert_listed(list, "MALLOC", "a=b");
	assert_listed(list, "I", "");
	assert_listed(list, "K", "back`x");
	assert_listed("A=1 A=2", "A", "2");
	assert_listed("'A=a \"b\\'", "A", "a \"b\\");
	assert_false(unit_list_get(list, "MALLOC_CON", buf, sizeof(buf)));
	assert_false(unit_list_get(list, "MALLOC_CONF", buf, sizeof(buf))); /* buf is too small */
	assert_false(unit_list_get("", "A", buf, sizeof(buf)));
	assert_false(unit_list_get("\"A=\\x41\"", "A", buf, sizeof(buf))); /* unknown escape */
	assert_true(unit_list_names("XX YY=1", "XX"));
	assert_true(unit_list_names("XX YY=1", "YY"));
	assert_false(unit_list_names("XX YY=1", "Y"));
	assert_false(unit_list_names("", "XX"));
}

static const char *in_file(const char *text)
{
	static char buf[32];

	return unit_file_get(text, "MALLOC_CONF", buf, sizeof(buf)) ? buf : NULL;
}

static void test_file(void **state)
{
	(void)state;
	assert_null(in_file(""));
	assert_null(in_file("# MALLOC_CONF=x\n; MALLOC_CONF=x\nOTHER=1\nXMALLOC_CONF=1\n"));
	assert_null(in_file("# behind a backslash goes on \\\nMALLOC_CONF=x\n"));
	assert_string_equal(in_file("MALLOC_CONF=a:1,b:2"), "a:1,b:2");
	assert_string_equal(in_file("  MALLOC_CONF = a b \r\n"), "a b");
	assert_string_equal(in_file("MALLOC_CONF=\"a \\\" b\"\n"), "a \" b");
	assert_string_equal(in_file("MALLOC_CONF='a \" \\b'\n"), "a \" \\b");
	assert_string_equal(in_file("MALLOC_CONF=a\\\nb\n"), "ab");
	assert_string_equal(in_file("MALLOC_CONF=\n"), "");
	assert_string_equal(in_file("MALLOC_CONF=1\nMALLOC_CONF=2\n"), "2");
	assert_string_equal(in_file("SECRET=\"x\ny\"\nMALLOC_CONF=1\n"), "1");
	assert_null(in_file("SECRET=\"x\nMALLOC_CONF=1\n\"\n"));
	assert_null(in_file("SECRET=x\\\nMALLOC_CONF=1\n"));
	assert_null(in_file("export MALLOC_CONF=1\n"));
	assert_null(in_file("MALLOC_CONF\n=1\n"));
	assert_null(in_file("MALLOC_CONF=0123456789012345678901234567890123456789\n"));
}

static void test_drop_in(void **state)
{
	static const char odd[] = "prof_prefix:/a b/%n\"$\\'c";
	char buf[64];
	bool was;
	char *text;

	(void)state;
	text = drop_in_make("a.service", "MALLOC_CONF", NULL, odd);
	assert_string_equal(text,
			    "# Written by jeprof-ctl enable; \"jeprof-ctl disable a.service\" "
			    "removes it.\n"
			    "# Without it there is no MALLOC_CONF.\n"
			    "[Service]\n"
			    "Environment=\"MALLOC_CONF=prof_prefix:/a b/%%n\\\"$\\\\'c\"\n");
	assert_true(drop_in_is_ours(text));
	assert_true(drop_in_variable(text, buf, sizeof(buf)));
	assert_string_equal(buf, "MALLOC_CONF");
	assert_false(drop_in_variable(text, buf, sizeof("MALLOC_CONF") - 1));
	assert_false(drop_in_variable("\nEnvironment=\"A\nB=", buf, sizeof(buf)));
	assert_true(drop_in_was(text, "MALLOC_CONF", &was, buf, sizeof(buf)));
	assert_false(was);
	assert_false(drop_in_was(text, "JE_MALLOC_CONF", &was, buf, sizeof(buf)));
	free(text);
	text = drop_in_make("a.service", "MALLOC_CONF", odd, "x:1");
	assert_true(drop_in_was(text, "MALLOC_CONF", &was, buf, sizeof(buf)));
	assert_true(was);
	assert_string_equal(buf, odd);
	assert_false(drop_in_was(text, "JE_MALLOC_CONF", &was, buf, sizeof(buf)));
	free(text);
	assert_false(drop_in_is_ours("[Service]\n# Written by jeprof-ctl enable\n"));
	assert_false(drop_in_is_ours(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name),	cmocka_unit_test(test_shown),
		cmocka_unit_test(test_list),	cmocka_unit_test(test_file),
		cmocka_unit_test(test_drop_in),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
