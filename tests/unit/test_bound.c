// SPDX-License-Identifier: Apache-2.0
#include "profile/bound.h"
#include "profile/combine.h"
#include "profile/format/format.h"
#include "tests/unit/said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAPS "\nMAPPED_LIBRARIES:\n401000-402000 r-xp 1000 0:0 1 /bin/prog\n"

/* Stacks of two calls. By bytes in use, 2 is the largest, then 5, then 1 and 4, which are equal. */
static const char text[] = "heap profile: 0: 0 [0: 0] @ heapprofile\n"
			   "1: 10 [2: 20] @ 0x401010 0x401900\n"
			   "1: 20 [1: 21] @ 0x401020 0x401900\n"
			   "9: 90 [9: 90] @ 0x401030 0x401900\n"
			   "0: 0 [7: 7000] @ 0x401040 0x401900\n"
			   "2: 20 [2: 20] @ 0x401050 0x401900\n"
			   "1: 30 [1: 30] @ 0x401060 0x401900\n" MAPS;
#define STACKS 6

static struct profile parsed(const char *from)
{
	struct profile_options options = { 0 };
	struct profile p = { 0 };
	struct err err = ERR_INIT;

	if (profile_parse(&p, from, strlen(from), &options, &err) || profile_symbols_none(&p, &err))
		fail_msg("%s", said(&err));
	return p;
}

static void bound(struct profile *p, size_t max, enum profile_type type)
{
	double total[PROFILE_TYPES];
	struct err err = ERR_INIT;

	for (int t = 0; t < PROFILE_TYPES; t++)
		total[t] = profile_total(p, (enum profile_type)t);
	assert_int_equal(profile_bound(p, max, type, &err), 0);
	for (int t = 0; t < PROFILE_TYPES; t++)
		assert_true(profile_total(p, (enum profile_type)t) == total[t]);
	assert_int_equal(p->n_addresses, p->symbols->n_locations);
}

/* The innermost address of each stack: "401010 401030 other". */
static const char *shown(const struct profile *p)
{
	static char list[256];
	size_t used = 0;

	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct profile_stack *s = &p->stacks[i];
		const struct profile_symbols *names = p->symbols;
		uint32_t at = p->frames[s->first];
		const struct profile_location *location = &names->locations[at];
		const char *name = names->functions[names->lines[location->first].function].name;

		if (!strcmp(name, PROFILE_BOUND_OTHER)) {
			assert_int_equal(s->depth, 1);
			assert_int_equal(p->addresses[at].mapping, PROFILE_NONE);
			used += (size_t)snprintf(list + used, sizeof(list) - used, " other");
		} else {
			assert_int_equal(s->depth, 2);
			used += (size_t)snprintf(list + used, sizeof(list) - used, " %lx",
						 (unsigned long)p->addresses[at].pc);
		}
	}
	return list + 1;
}

static void test_largest(void **state)
{
	struct profile p = parsed(text);
	const struct profile_stack *other;

	(void)state;
	bound(&p, 3, PROFILE_INUSE_SPACE);
	assert_string_equal(shown(&p), "401030 401060 other");
	other = &p.stacks[2];
	assert_true(other->value[PROFILE_INUSE_SPACE] == 50);
	assert_true(other->value[PROFILE_INUSE_OBJECTS] == 4);
	assert_true(other->sampled[PROFILE_INUSE_SPACE] == 50);
	assert_true(other->value[PROFILE_ALLOC_SPACE] == 7061);
	assert_int_equal(other->thread, PROFILE_NONE);
	profile_fini(&p);
}

/* Among equal stacks the first one is kept. The remaining stacks keep their order. */
static void test_order(void **state)
{
	struct profile p = parsed(text);

	(void)state;
	bound(&p, 4, PROFILE_INUSE_SPACE);
	assert_string_equal(shown(&p), "401020 401030 401060 other");
	profile_fini(&p);
	p = parsed(text);
	bound(&p, 2, PROFILE_ALLOC_SPACE);
	assert_string_equal(shown(&p), "401040 other");
	profile_fini(&p);
}

static void test_limits(void **state)
{
	static const char all[] = "401010 401020 401030 401040 401050 401060";
	static const size_t none[] = { 0, STACKS, STACKS + 1, SIZE_MAX };
	struct profile p = parsed(text);

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		bound(&p, none[i], PROFILE_INUSE_SPACE);
		assert_string_equal(shown(&p), all);
	}
	bound(&p, STACKS - 1, PROFILE_INUSE_SPACE);
	assert_string_equal(shown(&p), "401020 401030 401050 401060 other");
	profile_fini(&p);
	p = parsed(text);
	bound(&p, 1, PROFILE_INUSE_SPACE);
	assert_string_equal(shown(&p), "other");
	bound(&p, 1, PROFILE_INUSE_SPACE);
	assert_string_equal(shown(&p), "other");
	profile_fini(&p);
}

/* A stack that shrank a lot counts as large, and an unchanged one does not count as a stack. */
static void test_difference(void **state)
{
	static const char after[] = "heap profile: 0: 0 [0: 0] @ heapprofile\n"
				    "1: 15 [0: 0] @ 0x401010 0x401900\n"
				    "1: 20 [0: 0] @ 0x401020 0x401900\n"
				    "2: 22 [0: 0] @ 0x401050 0x401900\n" MAPS;
	static const char before[] = "heap profile: 0: 0 [0: 0] @ heapprofile\n"
				     "1: 10 [0: 0] @ 0x401010 0x401900\n"
				     "1: 20 [0: 0] @ 0x401020 0x401900\n"
				     "9: 90 [0: 0] @ 0x401030 0x401900\n" MAPS;
	struct profile p = parsed(after), q = parsed(before);
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(profile_subtract(&p, &q, &err), 0);
	assert_int_equal(p.n_stacks, 4);
	bound(&p, 3, PROFILE_INUSE_SPACE);
	assert_int_equal(p.n_stacks, 4);
	bound(&p, 2, PROFILE_INUSE_SPACE);
	assert_string_equal(shown(&p), "401030 other");
	assert_true(p.stacks[0].value[PROFILE_INUSE_SPACE] == -90);
	assert_true(p.stacks[1].value[PROFILE_INUSE_SPACE] == 27);
	profile_fini(&p);
	profile_fini(&q);
}

/* The result is written like any other profile. */
static void test_written(void **state)
{
	static const struct profile_format_options options = { .type = PROFILE_INUSE_SPACE };
	struct profile p = parsed(text);
	struct err err = ERR_INIT;
	char *bytes = NULL;
	size_t size;
	FILE *out = open_memstream(&bytes, &size);

	(void)state;
	bound(&p, 2, PROFILE_INUSE_SPACE);
	assert_int_equal(profile_write(&p, PROFILE_FORMAT_FOLDED, &options, out, &err), 0);
	fclose(out);
	assert_non_null(strstr(bytes, "(other) 80\n"));
	assert_non_null(strstr(bytes, "[prog+0x1030] 90\n"));
	free(bytes);
	profile_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_largest), cmocka_unit_test(test_order),
		cmocka_unit_test(test_limits),	cmocka_unit_test(test_difference),
		cmocka_unit_test(test_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
