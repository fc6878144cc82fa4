// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "profile/fit.h"

#include "profile/fold.h"
#include "tests/unit/made_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static void fits(const char *name, size_t width, const char *wanted)
{
	char buf[2048];

	assert_string_equal(profile_name_fit(name, width, buf, sizeof(buf)), wanted);
}

static void test_fit(void **state)
{
	static const char call[] =
		"void ns::outer<ns::deep<int> >::call(ns::deep<int>, char const*) const";

	(void)state;
	fits("main", 20, "main");
	fits(call, 100, call);
	fits(call, 60, "ns::outer<ns::deep<int> >::call");
	fits(call, 30, "ns::outer::call");
	fits(call, 12, "outer::call");
	fits("f(void (*)(int), int)", 12, "f");
	fits("ns::tree::operator()(unsigned long)", 30, "ns::tree::operator()");
	fits("ns::operator<< <char>(std::ostream&, char)", 30, "ns::operator<< <char>");
	fits("(anonymous namespace)::help(unsigned long)", 30, "(anonymous namespace)::help");
	fits("(anonymous namespace)::help(unsigned long)", 12, "help");
	fits("<alloc::vec::Vec<u8> as core::Clone>::clone", 42,
	     "<alloc::vec::Vec as core::Clone>::clone");
	fits("initialise_it (file.c)", 30, "initialise_it (file.c)");
	fits("operator new(unsigned long)", 14, "operator new");
	fits("a_name_that_is_long", 12, "a_na..._long");
	fits("Gr\303\266\303\237e\303\274\303\266\303\244\303\237abcdefgh", 12,
	     "Gr\303\266\303\237...defgh");
	fits("main.(*Server).handle", 20, "main.(*S...r).handle");
	fits("example.com/a.(*Server).handle", 26, "example.com...rver).handle");
	fits("f src/a.c:12", 12, "f src/a.c:12");
	fits("f(int) src/a.c:12", 12, "f a.c:12");
	fits("ns::outer::call<int> /usr/src/some/a.c:12", 18, "outer::call a.c:12");
	fits("0x401136 ns::outer::call(int) /usr/src/a.c:12", 30, "0x401136 outer::call a.c:12");
	fits("0x401136 ns::outer::call(int)", 26, "0x401136 ns::outer::call");
	fits("a_long_name_of_c src/a.c", 23, "a_long_nam..._c src/a.c");
	fits("short", 1, "short");
	fits("", 20, "");
}

static void bare(const char *name, const char *wanted)
{
	char buf[2048];

	assert_string_equal(profile_name_bare(name, buf, sizeof(buf)), wanted);
}

static void test_bare(void **state)
{
	(void)state;
	bare("zmalloc", "zmalloc");
	bare("zmalloc.part.0", "zmalloc");
	bare("zmalloc [clone .cold]", "zmalloc");
	bare("init (a.c)", "init");
	bare("init (a.c:12)", "init");
	bare("void* operator new(unsigned long)", "operator new");
	bare("int* std::_Vector_base<int, std::allocator<int> >::_M_allocate<3>(int)",
	     "std::_Vector_base::_M_allocate");
	bare("std::__1::allocator<int>::allocate[abi:ne180100](unsigned long)",
	     "std::__1::allocator::allocate");
	bare("f[abi:cxx11][abi:x]", "f");
	bare("f[abi:", "f[abi:");
	bare("main.(*T).f", "main.(*T).f");
	bare("palloc.Get", "palloc.Get");
	bare("zmalloc.constprop.0.isra.0", "zmalloc");
	bare("zmalloc.cold", "zmalloc");
	bare("zmalloc.12", "zmalloc");
	bare("a->b<c", "a->b<c");
	bare("f(", "f(");
	bare("f)<", "f)<");
	bare("<>", "<>");
	bare("()", "()");
	bare(" ", " ");
}

/* A profile can contain any name. */
static void test_any_name(void **state)
{
	static const char *const parts[] = { "a",
					     "a<",
					     "a<>",
					     "a(",
					     "()",
					     "::",
					     "a::",
					     "std::",
					     "_",
					     " ",
					     "<",
					     ">",
					     "operator<",
					     "malloc",
					     "sds",
					     "e",
					     "(anonymous namespace)",
					     " const",
					     "[abi:",
					     "]",
					     "0x1 ",
					     " a.c:1",
					     "\303\266",
					     "..." };
	char name[3000], buf[2048];

	(void)state;
	for (size_t i = 0; i < LEN(parts); i++)
		for (size_t j = 0; j < LEN(parts); j++) {
			const struct made_stack stack = { "main;work", 1, 1, 1, 1 };
			struct made_profile *m = made_profile(&stack, 1);
			const struct profile_fold fold = { 0 };
			struct err err = ERR_INIT;
			size_t n;

			strcpy(name, "std::");
			while (strlen(name) < 2000)
				strcat(strcat(name, parts[i]), parts[j]);
			for (size_t width = 0; width < 200; width += 37) {
				profile_name_fit(name, width, buf, sizeof(buf));
				assert_true(text_columns(buf) <=
					    (width < PROFILE_FIT_MIN ? PROFILE_FIT_MIN : width));
			}
			free((char *)m->functions[0].name);
			m->functions[0].name = strdup(name);
			assert_int_equal(profile_fold(&m->profile, &fold, &n, &err), 0);
			made_free(m);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_bare),
		cmocka_unit_test(test_any_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
