// SPDX-License-Identifier: Apache-2.0
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
	bare("a->b<c", "a->b<c");
	bare("f(", "f(");
	bare("f)<", "f)<");
	bare("<>", "<>");
	bare("()", "()");
	bare(" ", " ");
}

/* A profile may name anything. */
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
				assert_true(profile_columns(buf) <=
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
