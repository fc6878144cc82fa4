// SPDX-License-Identifier: Apache-2.0
#include "profile/filter.h"

#include "tests/unit/made_profile.h"
#include "tests/unit/said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* The n-th call has the address 0x401000 + 16 * n and the line n + 10, innermost first. */
static const struct made_stack stacks[] = {
	{ "main;a;b;malloc", 1, 100, 0, 0 },
	{ "main;c+a;malloc", 2, 200, 0, 0 },
	{ "main;d;b", 3, 300, 0, 0 },
	{ "malloc", 1, 10, 0, 0 },
};

/* The remaining stacks, written as in `stacks`, but with "outer;inlined" for "outer+inlined". */
static void describe(const struct profile *p, char *out, size_t size)
{
	const struct profile_symbols *s = p->symbols;
	size_t len = 0;

	*out = '\0';
	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct profile_stack *stack = &p->stacks[i];

		for (uint32_t f = stack->depth; f-- > 0;) {
			const struct profile_location *at =
				&s->locations[p->frames[stack->first + f]];

			for (uint32_t l = at->n; l-- > 0;)
				len += (size_t)snprintf(
					out + len, size - len, "%s;",
					s->functions[s->lines[at->first + l].function].name);
		}
		len += (size_t)snprintf(out + len, size - len, "%g ",
					stack->value[PROFILE_INUSE_SPACE]);
	}
}

static void leaves(struct profile_filter how, const char *wanted)
{
	struct made_profile *made = made_profile(stacks, 4);
	struct err err = ERR_INIT;
	char got[512];

	assert_int_equal(profile_filter(&made->profile, &how, &err), 0);
	describe(&made->profile, got, sizeof(got));
	assert_string_equal(got, wanted);
	/* Every address has a line, even if it is not used. */
	for (size_t i = 0; i < made->symbols.n_locations; i++)
		assert_true(made->locations[i].n >= 1);
	made_free(made);
}

#define FILTER(...) ((struct profile_filter){ __VA_ARGS__ })

static void test_allocator(void **state)
{
	(void)state;
	leaves(FILTER(.focus = NULL), "main;a;b;100 main;c;a;200 main;d;b;300 ");
	leaves(FILTER(.keep_allocator = true),
	       "main;a;b;malloc;100 main;c;a;malloc;200 main;d;b;300 malloc;10 ");
	/* Calls that were removed cannot be found. */
	leaves(FILTER(.focus = "malloc"), "");
	leaves(FILTER(.focus = "malloc", .keep_allocator = true),
	       "main;a;b;malloc;100 main;c;a;malloc;200 malloc;10 ");
}

static void test_stacks(void **state)
{
	(void)state;
	leaves(FILTER(.focus = "^b$"), "main;a;b;100 main;d;b;300 ");
	leaves(FILTER(.focus = "^a$"), "main;a;b;100 main;c;a;200 ");
	leaves(FILTER(.ignore = "^b$"), "main;c;a;200 ");
	leaves(FILTER(.focus = "^b$", .ignore = "^d$"), "main;a;b;100 ");
	leaves(FILTER(.ignore = "."), "");
	/*
	 * By the place of a call: a line, or an address, which is one less than the return address.
	 */
	leaves(FILTER(.focus = "^made\\.c:15$"), "main;c;a;200 ");
	leaves(FILTER(.ignore = "^0000000000401070$"), "main;a;b;100 main;c;a;200 ");
	leaves(FILTER(.focus = "^0000000000401071$"), "");
}

static void test_calls(void **state)
{
	(void)state;
	/* By the called function, with everything that was inlined into it. */
	leaves(FILTER(.retain = "^c$"), "c;a;200 ");
	leaves(FILTER(.retain = "^a$"), "a;100 ");
	leaves(FILTER(.exclude = "^c$"), "main;a;b;100 main;200 main;d;b;300 ");
	leaves(FILTER(.exclude = "^a$"), "main;b;100 main;c;a;200 main;d;b;300 ");
	/* Each call separately. */
	leaves(FILTER(.show = "^a$"), "a;100 a;200 ");
	leaves(FILTER(.hide = "^c$"), "main;a;b;100 main;a;200 main;d;b;300 ");
	leaves(FILTER(.hide = "^[abcd]$"), "main;100 main;200 main;300 ");
	leaves(FILTER(.hide = "."), "");
}

/* A filter does not find what an earlier one removed. */
static void test_order(void **state)
{
	(void)state;
	leaves(FILTER(.exclude = "^a$", .focus = "^a$"), "main;c;a;200 ");
	leaves(FILTER(.retain = "^[bc]$", .exclude = "^c$"), "b;100 b;300 ");
	leaves(FILTER(.hide = "^a$", .focus = "^a$"), "main;b;100 main;c;200 ");
	leaves(FILTER(.show = "^[ab]$", .hide = "^b$"), "a;100 a;200 ");
}

static void fails(struct profile_filter how, const char *message)
{
	struct made_profile *made = made_profile(stacks, 4);
	struct err err = ERR_INIT;

	assert_int_equal(profile_filter(&made->profile, &how, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_memory_equal(said(&err), message, strlen(message));
	made_free(made);
}

static void test_wrong(void **state)
{
	static const char slow[] = "^(?:(?:m|a|i|n|[a-z])+)+[0-9]{9}$";
	static const struct made_stack long_name[] = { { "mainmainmainmainmainmainmainmainmain", 1,
							 1, 0, 0 } };
	struct made_profile *made = made_profile(long_name, 1);
	struct profile_filter how = { .hide = slow };
	struct err err = ERR_INIT;

	(void)state;
	fails(FILTER(.retain = "("), "--retain (: ");
	fails(FILTER(.exclude = "("), "--exclude (: ");
	fails(FILTER(.focus = "("), "--focus (: ");
	fails(FILTER(.ignore = "("), "--ignore (: ");
	fails(FILTER(.show = "("), "--show (: ");
	fails(FILTER(.hide = "("), "--hide (: ");
	/* A pattern that takes too long is an error, not a mismatch. */
	assert_int_equal(profile_filter(&made->profile, &how, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	made_free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocator), cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_calls),	  cmocka_unit_test(test_order),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
