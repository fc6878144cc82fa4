// SPDX-License-Identifier: Apache-2.0
/*
 * Random profiles of one program, each with its images at other addresses, are added and
 * subtracted. The results are compared with sums of the values written.
 */
#include "profile/combine.h"

#include "tests/unit/said.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define IMAGES 3
#define STACKS 24
#define DEPTH 5
#define PROFILES 4

/* Calls that any profile may have. Image number IMAGES is an address outside all images. */
struct call {
	unsigned int image, offset;
};

static struct call stacks[STACKS][DEPTH];
static unsigned int seed;

static unsigned int below(unsigned int n)
{
	return (unsigned int)rand_r(&seed) % n;
}

struct wanted {
	double value[STACKS]; /* bytes in use, and also the number of objects */
	bool any[STACKS];
};

/* A profile with some of the stacks. Their bytes, times `sign`, are added to `w`. */
static struct profile random_profile(struct wanted *w, double sign)
{
	uint64_t base[IMAGES + 1] = { 0 };
	char text[8192], *at = text;
	struct profile p;
	struct err err = ERR_INIT;

	for (unsigned int i = 0; i < IMAGES; i++)
		base[i] = 0x10000 * (1 + 4 * (uint64_t)i + below(3));
	at += sprintf(at, "heap profile: 0: 0 [0: 0] @ heapprofile\n");
	for (unsigned int i = 0; i < STACKS; i++) {
		unsigned int bytes = 1 + below(1000);

		if (below(3))
			continue;
		w->value[i] += sign * bytes;
		w->any[i] = true;
		at += sprintf(at, "%u: %u [0: 0] @", bytes, bytes);
		for (unsigned int k = 0; k < 1 + i % DEPTH; k++)
			at += sprintf(at, " 0x%" PRIx64,
				      base[stacks[i][k].image] + stacks[i][k].offset);
		*at++ = '\n';
	}
	at += sprintf(at, "\nMAPPED_LIBRARIES:\n");
	for (unsigned int i = 0; i < IMAGES; i++)
		at += sprintf(at, "%" PRIx64 "-%" PRIx64 " r-xp 0 0:0 %u /lib/%u\n", base[i],
			      base[i] + 0x1000, i + 1, i);
	if (profile_parse(&p, text, (size_t)(at - text), NULL, &err))
		fail_msg("%s", said(&err));
	return p;
}

static bool is_stack(const struct profile *p, const struct profile_stack *s, unsigned int i)
{
	for (unsigned int k = 0; k < s->depth; k++) {
		const struct profile_address *a = &p->addresses[p->frames[s->first + k]];
		const struct call *c = &stacks[i][k];
		uint64_t base = 0;

		if (a->mapping == PROFILE_NONE) {
			if (c->image != IMAGES)
				return false;
		} else {
			const struct profile_mapping *m = &p->mappings[a->mapping];

			base = m->start;
			if (c->image != (unsigned int)(m->path[5] - '0'))
				return false;
		}
		if (a->pc != base + c->offset)
			return false;
	}
	return s->depth == 1 + i % DEPTH;
}

static void check(const struct profile *p, const struct wanted *w)
{
	size_t n = 0;

	assert_int_equal(p->n_mappings, IMAGES);
	for (unsigned int i = 0; i < STACKS; i++) {
		size_t found = 0;

		for (size_t k = 0; k < p->n_stacks; k++) {
			if (!is_stack(p, &p->stacks[k], i))
				continue;
			found++;
			assert_true(p->stacks[k].value[PROFILE_INUSE_SPACE] == w->value[i]);
			assert_true(p->stacks[k].value[PROFILE_INUSE_OBJECTS] == w->value[i]);
		}
		assert_int_equal(found, w->any[i]);
		n += found;
	}
	assert_int_equal(p->n_stacks, n);
}

/* In any order, and with one of them subtracted again. */
static void test_sums(void **state)
{
	(void)state;
	seed = 1;
	for (unsigned int i = 0; i < STACKS; i++)
		for (unsigned int k = 0; k < DEPTH; k++)
			stacks[i][k] = (struct call){ below(IMAGES + 1), 0x10 + i * DEPTH + k };
	for (int round = 0; round < 50; round++) {
		struct wanted w = { .any = { false } };
		struct profile p[PROFILES];
		struct err err;
		unsigned int first = below(PROFILES);

		for (size_t i = 0; i < PROFILES; i++)
			p[i] = random_profile(&w, 1);
		for (size_t i = 1; i < PROFILES; i++)
			assert_int_equal(profile_merge(&p[first], &p[(first + i) % PROFILES], &err),
					 0);
		check(&p[first], &w);
		profile_fini(&p[(first + 1) % PROFILES]);
		p[(first + 1) % PROFILES] = random_profile(&w, -1);
		assert_int_equal(profile_subtract(&p[first], &p[(first + 1) % PROFILES], &err), 0);
		check(&p[first], &w);
		assert_true(p[first].difference);
		for (size_t i = 0; i < PROFILES; i++)
			profile_fini(&p[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
