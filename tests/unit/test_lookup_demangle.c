// SPDX-License-Identifier: Apache-2.0
#include "symbols/lookup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_names(void **state)
{
	static const char *const names[][2] = {
		{ "_Z1fi", "f(int)" },
		{ "_ZN3foo3barERKSs", "foo::bar(std::string const&)" },
		{ "_Znwm", "operator new(unsigned long)" },
		{ "_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_ZSt4sortIPiEvT_S1_", "void std::sort<int*>(int*, int*)" },
	};
	static const char *const plain[] = { "",   "main", "_start", "__libc_malloc",
					     "_Z", "_R",   "Z1f" };
	char buf[SYMBOLS_NAME_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_true(symbols_demangle(names[i][0], buf));
		assert_string_equal(buf, names[i][1]);
	}
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		assert_false(symbols_demangle(plain[i], buf));
}

/* Forty letters that expand to 2^30 words, and names that nest or continue without end. */
static void test_hostile(void **state)
{
	static char name[100000], buf[SYMBOLS_NAME_MAX];
	size_t len;

	(void)state;
	strcpy(name, "_Z1fI1aE");
	len = (size_t)snprintf(name, sizeof(name), "_Z1fSt4pairI1aS0_E");
	for (int i = 0; i < 30; i++)
		len += (size_t)snprintf(name + len, sizeof(name) - len, "St4pairIS%c_S%c_E",
					'0' + i % 10, '0' + i % 10);
	symbols_demangle(name, buf);
	memset(name, 'P', sizeof(name) - 1);
	memcpy(name, "_Z1f", 4);
	assert_false(symbols_demangle(name, buf));
	name[SYMBOLS_NAME_MAX - 1] = '\0';
	symbols_demangle(name, buf);
	name[SYMBOLS_NAME_MAX - 2] = 'i';
	assert_false(symbols_demangle(name, buf));
	memset(name, 'N', 10000);
	memcpy(name, "_Z", 2);
	name[10000] = '\0';
	assert_false(symbols_demangle(name, buf));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
