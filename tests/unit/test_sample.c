// SPDX-License-Identifier: Apache-2.0
/* How many bytes a jemalloc event represents, checked on simulated programs. */
#include "ops/sites/estimate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define WAIT 65536
#define BYTES 4e9
#define SITES 3

/* Object sizes, and how many objects in a million have each size. */
struct program {
	uint64_t size[SITES], often[SITES];
};

/* What the sampler sees of a program. */
struct seen {
	struct sites_counts counts;
	double sums[SITES_SIZES][SITES]; /* bytes represented by its events, by site */
};

/* An estimation method: how an event of an object of `site` is counted, and the totals. */
struct estimate {
	void (*stands_for)(struct seen *s, int site, uint64_t elapsed);
	void (*totals)(const struct sites_counts *counts, uint64_t totals[SITES_SIZES]);
};

static void count(struct seen *s, enum sites_size size, int site, double stands_for)
{
	s->counts.events[size]++;
	s->sums[size][site] += stands_for;
}

static void as_we_do(struct seen *s, int site, uint64_t elapsed)
{
	uint64_t large = sites_large(elapsed, WAIT);

	s->counts.allocated[SITES_LARGE] += large;
	s->counts.allocated[SITES_SMALL] += elapsed - large;
	s->counts.before += large ? elapsed - large : 0;
	count(s, large ? SITES_LARGE : SITES_SMALL, site, large ? (double)large : WAIT);
}

/* Control: each event represents the same number of bytes. */
static void by_event(struct seen *s, int site, uint64_t elapsed)
{
	s->counts.allocated[SITES_SMALL] += elapsed;
	count(s, SITES_SMALL, site, WAIT);
}

/* Control: each event represents everything allocated since the previous one. */
static void by_elapsed(struct seen *s, int site, uint64_t elapsed)
{
	s->counts.allocated[SITES_SMALL] += elapsed;
	count(s, SITES_SMALL, site, (double)elapsed);
}

/* Control: on average half of WAIT precedes a large object, no matter how many there are. */
static void as_counted(const struct sites_counts *counts, uint64_t totals[SITES_SIZES])
{
	for (int i = 0; i < SITES_SIZES; i++)
		totals[i] = counts->allocated[i];
}

static const struct estimate ours = { as_we_do, sites_totals };
static const struct estimate event_alone = { by_event, as_counted };
static const struct estimate elapsed_alone = { by_elapsed, as_counted };
static const struct estimate always_half = { as_we_do, as_counted };

static uint64_t chance(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static int choose(const struct program *p, uint64_t *seed)
{
	uint64_t n = chance(seed) % 1000000;

	return n < p->often[0] ? 0 : n < p->often[0] + p->often[1] ? 1 : 2;
}

/* The largest relative error of a site. Events occur when jemalloc calls te_event_trigger(). */
static double worst(const struct program *p, const struct estimate *e)
{
	double truth[SITES] = { 0 }, all = 0, most = 0;
	uint64_t seed = 42, since = 0, totals[SITES_SIZES];
	struct seen seen = { 0 };

	while (all < BYTES) {
		int site = choose(p, &seed);

		truth[site] += (double)p->size[site];
		all += (double)p->size[site];
		since += p->size[site];
		if (since < WAIT)
			continue;
		e->stands_for(&seen, site, since);
		since = 0;
	}
	e->totals(&seen.counts, totals);
	for (int site = 0; site < SITES; site++) {
		double bytes = 0;

		for (int k = 0; k < SITES_SIZES; k++) {
			double sum = seen.sums[k][0] + seen.sums[k][1] + seen.sums[k][2];

			bytes += sum > 0 ? seen.sums[k][site] * (double)totals[k] / sum : 0;
		}
		most = fmax(most, fabs(bytes - truth[site]) / truth[site]);
	}
	return most;
}

static void test_small_objects(void **state)
{
	const struct program p = { { 16, 320, 4096 }, { 700000, 250000, 50000 } };

	(void)state;
	assert_true(worst(&p, &ours) < 0.03);
	assert_true(worst(&p, &event_alone) < 0.03);
}

/* Three times as large as the threshold: counting events finds a third of their bytes. */
static void test_large_objects(void **state)
{
	const struct program p = { { 48, 320, 200000 }, { 500000, 499000, 1000 } };

	(void)state;
	assert_true(worst(&p, &ours) < 0.03);
	assert_true(worst(&p, &event_alone) > 0.3);
	assert_true(worst(&p, &elapsed_alone) > 0.1);
}

static void test_both(void **state)
{
	const struct program p = { { 320, 24000, 300000 }, { 980000, 19500, 500 } };

	(void)state;
	assert_true(worst(&p, &ours) < 0.05);
	assert_true(worst(&p, &event_alone) > 0.2);
}

/* Large objects account for most of the bytes, so little is allocated before each one. */
static void test_mostly_large_objects(void **state)
{
	static const uint64_t sizes[] = { 114688, 200000, 300000 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const struct program p = { { 48, 320, sizes[i] }, { 495000, 495000, 10000 } };

		assert_true(worst(&p, &ours) < 0.15);
		assert_true(worst(&p, &always_half) > 0.5);
	}
}

/* Only large objects: all bytes are attributed to them. */
static void test_large_objects_alone(void **state)
{
	const struct sites_counts c = { .events = { 0, 10 },
					.allocated = { 10 * WAIT / 2, 10 * 200000 - 10 * WAIT / 2 },
					.before = 10 * WAIT / 2 };
	uint64_t totals[SITES_SIZES];

	(void)state;
	sites_totals(&c, totals);
	assert_int_equal(totals[SITES_SMALL], 0);
	assert_int_equal(totals[SITES_LARGE], 10 * 200000);
}

/* Near the threshold neither kind fits well. The error is not larger than doc/sites.md says. */
static void test_objects_about_as_large(void **state)
{
	static const uint64_t sizes[] = { 40000, 65536, 98304 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const struct program p = { { 48, 320, sizes[i] }, { 500000, 499000, 1000 } };

		assert_true(worst(&p, &ours) < 0.2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_objects),
		cmocka_unit_test(test_large_objects),
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_mostly_large_objects),
		cmocka_unit_test(test_large_objects_alone),
		cmocka_unit_test(test_objects_about_as_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
