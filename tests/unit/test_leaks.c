// SPDX-License-Identifier: Apache-2.0
/* The statistics of diff and leaks, on made-up programs whose behavior is known. */
#include "profile/leaks.h"
#include "profile/significance.h"
#include "tests/unit/said.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PERIOD 524288.0
#define SIZE 1000.0 /* of each object */
#define STACKS 20
#define STACKS_MAX 60
#define PROFILES_MAX 16

/* xorshift64*: the same numbers on every machine. */
static uint64_t seed;

static double uniform(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return ((double)((seed * 0x2545f4914f6cdd1dull) >> 11) + 0.5) / 9007199254740992.0;
}

static double poisson(double mean)
{
	double n = 0, left = exp(-mean);

	if (mean > 500) /* exp() would underflow: add two of half the mean */
		return poisson(mean / 2) + poisson(mean / 2);
	for (double p = uniform(); p > left; p *= uniform())
		n++;
	return n;
}

static double survivors(double n, double probability)
{
	double left = 0;

	for (double i = 0; i < n; i++)
		left += uniform() < probability;
	return left;
}

/* A series with values set by the test. */
struct made {
	struct profile_series series;
	struct profile_series_row rows[PROFILES_MAX];
	struct profile_stack stacks[STACKS_MAX];
	uint32_t frames[STACKS_MAX];
	double value[PROFILES_MAX][STACKS_MAX], variance[PROFILES_MAX][STACKS_MAX];
	double seconds[PROFILES_MAX];
};

static void made_init(struct made *m, size_t profiles, size_t stacks)
{
	memset(m, 0, sizeof(*m));
	m->series.rows = m->rows;
	m->series.n = profiles;
	m->series.all.stacks = m->stacks;
	m->series.all.frames = m->frames;
	m->series.all.n_frames = m->series.all.n_stacks = stacks;
	for (size_t s = 0; s < stacks; s++) { /* one frame each, no thread, no symbols */
		m->frames[s] = (uint32_t)s;
		m->stacks[s] = (struct profile_stack){ s, 1, PROFILE_NONE, { 0 }, { 0 }, { 0 } };
	}
	for (size_t i = 0; i < profiles; i++) {
		m->rows[i] = (struct profile_series_row){ m->value[i], m->variance[i], stacks };
		m->seconds[i] = 30 * (double)i;
	}
}

/* Counts `samples` of objects of SIZE like profile_parse(). */
static void made_set(struct made *m, size_t profile, size_t stack, double samples)
{
	double factor = 1 / (1 - exp(-SIZE / PERIOD));

	m->value[profile][stack] = samples * factor * SIZE;
	m->variance[profile][stack] = samples * factor * (factor - 1) * SIZE * SIZE;
}

static size_t count_leaks(struct made *m, struct profile_leaks *out)
{
	struct err err = ERR_INIT;

	assert_int_equal(profile_leaks_find(&m->series, m->seconds, out, &err), 0);
	return out->n_leaks;
}

/* Returns for how many of `runs` programs, none of which leaks, a leak is reported. */
static unsigned int false_alarms(unsigned int runs, size_t profiles, double samples,
				 double survival, double unrest)
{
	static struct made m;
	unsigned int alarms = 0;

	for (unsigned int run = 0; run < runs; run++) {
		struct profile_leaks leaks;

		made_init(&m, profiles, STACKS);
		for (size_t s = 0; s < STACKS; s++) {
			double n = poisson(samples);

			for (size_t i = 0; i < profiles; i++) {
				double level = samples * (1 + unrest * (2 * uniform() - 1));

				made_set(&m, i, s, n);
				n = survivors(n, survival) + poisson(level * (1 - survival));
			}
		}
		alarms += count_leaks(&m, &leaks) > 0;
		profile_leaks_fini(&leaks);
	}
	return alarms;
}

static void test_no_leak(void **state)
{
	static const size_t profiles[] = { 3, 5, 10 };
	static const double samples[] = { 0.3, 3, 40 }, survival[] = { 0, 0.5, 0.9, 0.99 };
	unsigned int runs = 0, alarms = 0, worst = 0;

	(void)state;
	seed = 1;
	for (size_t p = 0; p < 3; p++)
		for (size_t n = 0; n < 3; n++)
			for (size_t s = 0; s < 4; s++) {
				unsigned int a =
					false_alarms(200, profiles[p], samples[n], survival[s], 0);

				runs += 200;
				alarms += a;
				worst = a > worst ? a : worst;
			}
	if (alarms > runs * SIGNIFICANCE_LEVEL || worst > 8)
		fail_msg("%u of %u programs without a leak leak, %u of 200 of a kind", alarms, runs,
			 worst);
}

/* Programs whose memory use fluctuates. */
static void test_unrest(void **state)
{
	unsigned int alarms = 0;

	(void)state;
	seed = 2;
	alarms += false_alarms(500, 6, 200, 0, 0.5);
	alarms += false_alarms(500, 10, 200, 0, 0.5);
	if (alarms > 10)
		fail_msg("%u of 1000 restless programs leak", alarms);
}

/* Approximately normally distributed, with mean 0 and variance 1. */
static double normal(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += uniform();
	return sum;
}

/*
 * The memory of many stacks fluctuates, by 30 % as a rule; `memory` is the correlation with the
 * previous profile. The first stack may also leak: `leak` samples per profile on average.
 */
struct swing {
	size_t profiles;
	double memory, leak;
	unsigned int runs, found, alarms; /* alarms: on stacks other than the leaking one */
};

static void swing(struct swing *w)
{
	static struct made m;

	for (unsigned int run = 0; run < w->runs; run++) {
		struct profile_leaks leaks;
		bool found = false;

		made_init(&m, w->profiles, STACKS_MAX);
		for (size_t s = 0; s < STACKS_MAX; s++) {
			double level = normal(), leaked = 0;

			for (size_t i = 0; i < w->profiles; i++) {
				made_set(&m, i, s,
					 poisson(200 * fmax(0, 1 + 0.3 * level)) + leaked);
				leaked += s ? 0 : poisson(w->leak);
				level = w->memory * level +
					sqrt(1 - w->memory * w->memory) * normal();
			}
		}
		count_leaks(&m, &leaks);
		for (size_t i = 0; i < leaks.n_leaks; i++)
			found |= w->leak > 0 && !leaks.leaks[i].stack;
		w->found += found;
		w->alarms += leaks.n_leaks > found;
		profile_leaks_fini(&leaks);
	}
}

/* Stacks that shrink show how much of the growth is noise. */
static void test_swing(void **state)
{
	static const struct {
		struct swing w;
		unsigned int found_min, alarms_max;
	} cases[] = {
		{ { .profiles = 3, .runs = 300 }, 0, 8 },
		{ { .profiles = 6, .runs = 300 }, 0, 3 },
		{ { .profiles = 6, .memory = 0.8, .runs = 300 }, 0, 12 },
		{ { .profiles = 12, .memory = 0.8, .runs = 300 }, 0, 6 },
		{ { .profiles = 6, .leak = 200, .runs = 300 }, 240, 3 },
		{ { .profiles = 12, .leak = 200, .runs = 300 }, 295, 3 },
	};

	(void)state;
	seed = 6;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct swing w = cases[i].w;

		swing(&w);
		if (w.found < cases[i].found_min || w.alarms > cases[i].alarms_max)
			fail_msg("case %zu: found %u times, %u false alarms", i, w.found, w.alarms);
	}
}

static void test_leak(void **state)
{
	unsigned int runs = 300, found = 0, others = 0, within = 0, outside = 0;
	static struct made m;

	(void)state;
	seed = 3;
	for (unsigned int run = 0; run < runs; run++) {
		double leaked = 0, rate = 12 * SIZE / (1 - exp(-SIZE / PERIOD)) / 30;
		struct profile_leaks leaks;

		made_init(&m, 6, STACKS);
		for (size_t i = 0; i < 6; i++) {
			for (size_t s = 0; s < STACKS; s++)
				made_set(&m, i, s, poisson(20) + (s == 7 ? leaked : 0));
			leaked += poisson(12);
		}
		if (count_leaks(&m, &leaks) && leaks.leaks[0].stack == 7) {
			found++;
			within += fabs(leaks.leaks[0].rate - rate) < 2 * leaks.leaks[0].rate_error;
			outside +=
				rate < leaks.leaks[0].rate_low || rate > leaks.leaks[0].rate_high;
		}
		others += leaks.n_leaks > 1;
		profile_leaks_fini(&leaks);
	}
	if (found < runs * 8 / 10 || within < found * 95 / 100 || outside > 3 || others > 3)
		fail_msg("of %u leaks %u were found, %u with the right rate, %u outside of the "
			 "interval, others %u times",
			 runs, found, within, outside, others);
}

/* One stack shrinks as steadily as another one grows: this casts no doubt on the leak. */
static void test_drained(void **state)
{
	struct profile_leaks leaks;
	static struct made m;

	(void)state;
	made_init(&m, 6, STACKS);
	for (size_t i = 0; i < 6; i++)
		for (size_t s = 0; s < STACKS; s++)
			made_set(&m, i, s,
				 s < 1	  ? 2000 - 300 * (double)i
				 : s == 7 ? 300 * (double)i
					  : 50);
	assert_int_equal(count_leaks(&m, &leaks), 1);
	assert_int_equal(leaks.leaks[0].stack, 7);
	assert_true(leaks.dispersion == 1);
	profile_leaks_fini(&leaks);
}

/* After activation, objects allocated before are not seen, and are replaced by objects that are. */
static void test_filling_up(void **state)
{
	struct profile_leaks leaks;
	static struct made m;

	(void)state;
	made_init(&m, 6, STACKS);
	for (size_t i = 0; i < 6; i++)
		for (size_t s = 0; s < STACKS; s++)
			made_set(&m, i, s, 1000 * (1 - pow(0.4, (double)i)));
	assert_int_equal(count_leaks(&m, &leaks), 0);
	assert_int_equal(leaks.n_stacks, STACKS);
	assert_int_equal(leaks.n_tested, STACKS + 1); /* and the total */
	assert_int_equal(leaks.n_suspects, 0);
	profile_leaks_fini(&leaks);
}

static void test_too_little(void **state)
{
	struct profile_leaks leaks;
	struct err err = ERR_INIT;
	static struct made m;

	(void)state;
	made_init(&m, 2, STACKS);
	assert_int_equal(profile_leaks_find(&m.series, m.seconds, &leaks, &err), -1);
	assert_string_equal(said(&err),
			    "growth over time needs at least 3 profiles of different times");
	made_init(&m, 3, STACKS);
	m.seconds[1] = m.seconds[2] = 0;
	assert_int_equal(profile_leaks_find(&m.series, m.seconds, &leaks, &err), -1);
	assert_int_equal(err.ids[0], ERROR_NO_TIME_BETWEEN);
}

static void test_known_values(void **state)
{
	(void)state;
	assert_float_equal(significance_student(1.959964, INFINITY), 0.025, 1e-6);
	assert_float_equal(significance_student(2.776445, 4), 0.025, 1e-6);
	assert_float_equal(significance_student(-2.776445, 4), 0.975, 1e-6);
	assert_float_equal(significance_student(63.656741, 1), 0.005, 1e-6);
	assert_float_equal(significance_student_at(0.025, INFINITY), 1.959964, 1e-6);
	assert_float_equal(significance_student_at(0.025, 4), 2.776445, 1e-6);
	/* All five samples are in the second profile: one of 2^5 outcomes. */
	assert_float_equal(significance_growth(0, 0, 5, 5), 1.0 / 32, 1e-9);
	assert_true(significance_growth(3, 3, 3, 3) == 1);
	assert_true(significance_growth(3, 0, 4, 0) == 0);
	assert_true(significance_growth(0, 0, 100, 100) < 1e-20);
}

static void test_growth_level(void **state)
{
	unsigned int runs = 20000, wrong = 0;

	(void)state;
	seed = 4;
	for (unsigned int i = 0; i < runs; i++) {
		double mean = 1 + 60 * uniform(), a = poisson(mean), b = poisson(mean);

		wrong += significance_growth(a, a, b, b) <= 0.05;
	}
	if (wrong > runs * 0.052)
		fail_msg("%u of %u differences by chance are significant at 5%%", wrong, runs);
}

static void test_holm(void **state)
{
	/* 0.001 <= 0.01/5, 0.002 <= 0.01/4, 0.0033 <= 0.01/3, 0.006 > 0.01/2 */
	static const double p[] = { 0.006, 0.001, 0.0033, 0.002 };
	static const bool wanted[] = { false, true, true, true };
	static const double all_but_one[] = { 0.001, 1 };
	struct err err = ERR_INIT;
	bool significant[4];

	(void)state;
	assert_int_equal(significance_holm(p, 4, 5, significant, &err), 0);
	assert_memory_equal(significant, wanted, sizeof(wanted));
	assert_int_equal(significance_holm(p, 4, 100, significant, &err), 0);
	for (size_t i = 0; i < 4; i++)
		assert_false(significant[i]);
	/* A value that was not tested is never significant, however many others are. */
	assert_int_equal(significance_holm(all_but_one, 2, 1, significant, &err), 0);
	assert_true(significant[0]);
	assert_false(significant[1]);
	assert_int_equal(significance_holm(NULL, 0, 0, significant, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_leak),	     cmocka_unit_test(test_unrest),
		cmocka_unit_test(test_leak),	     cmocka_unit_test(test_filling_up),
		cmocka_unit_test(test_swing),	     cmocka_unit_test(test_drained),
		cmocka_unit_test(test_too_little),   cmocka_unit_test(test_known_values),
		cmocka_unit_test(test_growth_level), cmocka_unit_test(test_holm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
