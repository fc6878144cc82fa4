// SPDX-License-Identifier: Apache-2.0
/* What an event of jemalloc's stands for, on programs whose truth is known. */
#include "bpf/sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define WAIT 65536
#define BYTES 4e9
#define SITES 3

/* Objects of these sizes, each as often as it says of a million. */
struct program {
	uint64_t size[SITES], often[SITES];
};

/* Of the event of an object of `size` bytes. */
typedef void stands_for_fn(int site, uint64_t elapsed, double sums[2][SITES], double totals[2]);

static void as_we_do(int site, uint64_t elapsed, double sums[2][SITES], double totals[2])
{
	uint64_t large = sites_large(elapsed, WAIT);

	totals[SITES_LARGE] += (double)large;
	totals[SITES_SMALL] += (double)(elapsed - large);
	sums[large ? SITES_LARGE : SITES_SMALL][site] += large ? (double)large : WAIT;
}

/* The controls: each event is worth the same, */
static void by_event(int site, uint64_t elapsed, double sums[2][SITES], double totals[2])
{
	totals[0] += (double)elapsed;
	sums[0][site] += WAIT;
}

/* or all that was allocated since the last one. */
static void by_elapsed(int site, uint64_t elapsed, double sums[2][SITES], double totals[2])
{
	totals[0] += (double)elapsed;
	sums[0][site] += (double)elapsed;
}

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

/* The largest error of a site's share of all bytes, as te_event_trigger() is called. */
static double worst(const struct program *p, stands_for_fn *stands_for)
{
	double truth[SITES] = { 0 }, sums[2][SITES] = { 0 }, totals[2] = { 0 }, all = 0, most = 0;
	uint64_t seed = 42, since = 0;

	while (all < BYTES) {
		int site = choose(p, &seed);

		truth[site] += (double)p->size[site];
		all += (double)p->size[site];
		since += p->size[site];
		if (since < WAIT)
			continue;
		stands_for(site, since, sums, totals);
		since = 0;
	}
	for (int site = 0; site < SITES; site++) {
		double bytes = 0;

		for (int k = 0; k < 2; k++) {
			double sum = sums[k][0] + sums[k][1] + sums[k][2];

			bytes += sum > 0 ? sums[k][site] * totals[k] / sum : 0;
		}
		most = fmax(most, fabs(bytes - truth[site]) / truth[site]);
	}
	return most;
}

static void test_small_objects(void **state)
{
	const struct program p = { { 16, 320, 4096 }, { 700000, 250000, 50000 } };

	(void)state;
	assert_true(worst(&p, as_we_do) < 0.03);
	assert_true(worst(&p, by_event) < 0.03);
}

/* As much larger as the threshold is: what counts events sees a third of them. */
static void test_large_objects(void **state)
{
	const struct program p = { { 48, 320, 200000 }, { 500000, 499000, 1000 } };

	(void)state;
	assert_true(worst(&p, as_we_do) < 0.03);
	assert_true(worst(&p, by_event) > 0.3);
	assert_true(worst(&p, by_elapsed) > 0.1);
}

static void test_both(void **state)
{
	const struct program p = { { 320, 24000, 300000 }, { 980000, 19500, 500 } };

	(void)state;
	assert_true(worst(&p, as_we_do) < 0.05);
	assert_true(worst(&p, by_event) > 0.2);
}

/* Where neither kind is quite right: not worse than doc/sites.md says. */
static void test_objects_about_as_large(void **state)
{
	static const uint64_t sizes[] = { 40000, 65536, 98304 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const struct program p = { { 48, 320, sizes[i] }, { 500000, 499000, 1000 } };

		assert_true(worst(&p, as_we_do) < 0.2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_objects),
		cmocka_unit_test(test_large_objects),
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_objects_about_as_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
