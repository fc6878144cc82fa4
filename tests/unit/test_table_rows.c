// SPDX-License-Identifier: Apache-2.0
/* profile/table.c, compared with sums computed in the obvious way. */
#include "profile/table.h"

#include "tests/unit/made_profile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SPACE PROFILE_INUSE_SPACE
#define N_STACKS 150
#define N_NAMES 12

static unsigned int seed;

static int below(int n)
{
	return rand_r(&seed) % n;
}

/* Stacks of up to 6 calls of the functions 'a' to 'l'. Lines do not matter in a table. */
static struct made_profile *random_profile(char texts[N_STACKS][16], bool difference)
{
	struct made_stack stacks[N_STACKS];
	struct made_profile *made;

	for (size_t i = 0; i < N_STACKS; i++) {
		int depth = 1 + below(6);

		for (int k = 0; k < depth; k++)
			snprintf(texts[i] + 2 * k, 3, "%c;", 'a' + below(N_NAMES));
		texts[i][2 * depth - 1] = '\0';
		stacks[i] =
			(struct made_stack){ texts[i], 1, below(1000) - 400 * difference, 0, 0 };
	}
	made = made_profile(stacks, N_STACKS);
	made->profile.difference = difference;
	for (size_t i = 0; i < made->symbols.n_lines; i++)
		made->lines[i].line = 0;
	for (size_t i = 0; i < N_STACKS; i++)
		made->stacks[i].variance[SPACE] = below(50);
	return made;
}

static struct profile_table table_of(const struct profile *p)
{
	struct profile_table t;
	struct err err;

	assert_int_equal(profile_table_init(&t, p, SPACE, true, &err), 0);
	return t;
}

static const struct profile_row *row_of(const struct profile_table *t, const struct profile *p,
					char name)
{
	for (size_t i = 0; i < t->n_rows; i++)
		if (*p->symbols->functions[t->rows[i].function].name == name)
			return &t->rows[i];
	return NULL;
}

/* The row of one function, computed from the texts. */
static struct profile_row expected_row(char texts[N_STACKS][16], const struct profile *p, char name)
{
	struct profile_row want = { 0 };

	for (size_t i = 0; i < N_STACKS; i++) {
		const struct profile_stack *s = &p->stacks[i];

		if (!strchr(texts[i], name))
			continue;
		want.cum += s->value[SPACE];
		want.cum_variance += s->variance[SPACE];
		if (texts[i][strlen(texts[i]) - 1] != name)
			continue;
		want.flat += s->value[SPACE];
		want.flat_variance += s->variance[SPACE];
	}
	return want;
}

static void check_stacks(char texts[N_STACKS][16], const struct profile *p,
			 const struct profile_table *t)
{
	size_t different = 0;

	for (size_t i = 0; i < N_STACKS; i++) {
		double value = 0;
		bool first = true;

		for (size_t k = 0; k < N_STACKS; k++) {
			if (strcmp(texts[i], texts[k]) != 0)
				continue;
			value += p->stacks[k].value[SPACE];
			first &= k >= i;
		}
		if (!first)
			continue;
		assert_true(different < t->n_different);
		assert_int_equal(t->stacks[different].stack, i);
		assert_true(t->stacks[different++].value == value);
	}
	assert_int_equal(t->n_different, different);
}

static void check_table(bool difference)
{
	char texts[N_STACKS][16];
	struct made_profile *made = random_profile(texts, difference);
	const struct profile *p = &made->profile;
	struct profile_table t = table_of(p);
	double total = 0, whole = 0, flat = 0;
	size_t n = 0;

	for (size_t i = 0; i < N_STACKS; i++) {
		total += p->stacks[i].value[SPACE];
		whole += fabs(p->stacks[i].value[SPACE]);
		n += p->stacks[i].value[SPACE] != 0;
	}
	assert_true(t.total == total);
	assert_true(t.whole == (difference ? whole : total));
	assert_int_equal(t.n_stacks, n);
	assert_int_equal(t.n_rows, N_NAMES);
	for (int i = 0; i < N_NAMES; i++) {
		char name = (char)('a' + i);
		const struct profile_row want = expected_row(texts, p, name);
		const struct profile_row *got = row_of(&t, p, name);

		assert_non_null(got);
		assert_true(got->flat == want.flat && got->cum == want.cum);
		assert_true(got->flat_variance == want.flat_variance);
		assert_true(got->cum_variance == want.cum_variance);
		flat += got->flat;
	}
	assert_true(flat == total);
	check_stacks(texts, p, &t);
	profile_table_fini(&t);
	made_free(made);
}

static void test_sums(void **state)
{
	(void)state;
	seed = 1;
	for (int i = 0; i < 20; i++)
		check_table(i % 2);
}

/* Expect the rows in this order, given by the first letters of their names. */
static void expect_order(struct profile_table *t, const struct profile *p, bool by_cum,
			 bool by_sign, const char *want)
{
	char got[32] = "";

	profile_table_sort(t, p->symbols, (struct profile_table_order){ by_cum, by_sign });
	for (size_t i = 0; i < t->n_rows; i++)
		got[i] = *p->symbols->functions[t->rows[i].function].name;
	assert_string_equal(got, want);
}

static void test_order(void **state)
{
	static const struct made_stack stacks[] = {
		{ "m;a", 1, 10, 0, 0 }, { "m;b", 1, -30, 0, 0 }, { "m;b;c", 1, 10, 0, 0 },
		{ "m;d", 1, 10, 0, 0 }, { "e;d", 1, 0, 0, 0 },	 { "m;f", 1, 30, 0, 0 },
	};
	struct made_profile *made = made_profile(stacks, 6);
	struct profile_table t;

	(void)state;
	made->profile.difference = true;
	t = table_of(&made->profile);
	/* flat: a 10, b -30, c 10, d 10, e 0, f 30, m 0; cum: b -20, m 30. */
	expect_order(&t, &made->profile, false, false, "fbacdme");
	expect_order(&t, &made->profile, true, false, "fmbacde");
	expect_order(&t, &made->profile, false, true, "facdemb");
	expect_order(&t, &made->profile, true, true, "fmacdeb");
	assert_true(t.whole == 90);
	/* A row with exactly this share stays. A share of 0 only removes rows without a change. */
	t.whole = 120;
	profile_table_trim(&t, 0.25);
	expect_order(&t, &made->profile, false, false, "fm");
	profile_table_fini(&t);
	t = table_of(&made->profile);
	profile_table_trim(&t, 0);
	expect_order(&t, &made->profile, false, false, "fbacdm");
	profile_table_fini(&t);
	made_free(made);
}

/* For few and for many rows, the result is the same as sorting all of them. */
static void test_top(void **state)
{
	enum { ALL = 400 };
	struct profile_table_stack all[ALL], v[ALL];

	(void)state;
	seed = 2;
	for (size_t n = 0; n <= ALL; n += n < 30 ? 1 : 37) {
		struct profile_table t = { .stacks = v, .n_different = ALL };
		size_t kept = 0, found;

		for (size_t i = 0; i < ALL; i++) {
			v[i] = (struct profile_table_stack){ .value = below(101) - 50, .stack = i };
			if (v[i].value != 0)
				all[kept++] = v[i];
		}
		found = profile_table_top(&t, n);
		assert_int_equal(found, !n || n > kept ? kept : n);
		assert_int_equal(t.n_different, kept);
		for (size_t i = 0; i < found; i++) {
			size_t before = 0;

			for (size_t k = 0; k < kept; k++) {
				double a = fabs(all[k].value), b = fabs(v[i].value);

				before += a > b || (a == b && all[k].stack < v[i].stack);
			}
			assert_int_equal(before, i);
		}
	}
}

static void test_empty(void **state)
{
	static const struct made_stack nothing = { "m", 0, 0, 0, 0 };
	struct made_profile *made = made_profile(&nothing, 1);
	struct profile_table t;

	(void)state;
	t = table_of(&made->profile);
	assert_true(t.total == 0 && t.n_stacks == 0);
	assert_int_equal(t.n_rows, 1);
	assert_int_equal(profile_table_top(&t, 5), 0);
	profile_table_trim(&t, 0.5);
	assert_int_equal(t.n_rows, 0);
	profile_table_fini(&t);
	made->profile.n_stacks = 0;
	t = table_of(&made->profile);
	assert_int_equal(t.n_rows, 0);
	profile_table_sort(&t, &made->symbols, (struct profile_table_order){ 0 });
	profile_table_fini(&t);
	made_free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
