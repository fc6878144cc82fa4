// SPDX-License-Identifier: Apache-2.0
/* Where a program leaks: in which function, even if no single stack shows it, and which threads. */
#include "profile/leaks.h"

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

#define PROFILES 12
#define TEXT_MAX 65536

static double seconds[PROFILES];

static void add(struct profile_series *s, const char *text, bool by_thread)
{
	struct profile_options options = { .by_thread = by_thread };
	struct profile p = { 0 };
	struct err err = ERR_INIT;

	if (profile_parse(&p, text, strlen(text), &options, &err) ||
	    profile_series_add(s, &p, &err))
		fail_msg("%s", said(&err));
	profile_fini(&p);
}

static struct profile_leaks find(const struct profile_series *s)
{
	struct profile_leaks leaks;
	struct err err = ERR_INIT;

	for (size_t i = 0; i < PROFILES; i++)
		seconds[i] = 10 * (double)i;
	if (profile_leaks_find(s, seconds, &leaks, &err))
		fail_msg("%s", said(&err));
	return leaks;
}

/* Adds samples of 1 KiB per thread: t1 and t2 are "work", t3 is "net", t4 and t5 have no name. */
static void add_threads(struct profile_series *s, const int samples[5])
{
	static const char *const names[] = { " work", " work", " net", "", "" };
	char text[TEXT_MAX], *at = text;
	int all = 0;

	for (int t = 0; t < 5; t++)
		all += samples[t];
	at += sprintf(at, "heap_v2/1024\n  t*: %d: %d [0: 0]\n", all, 1024 * all);
	for (int t = 0; t < 5; t++)
		at += sprintf(at, "  t%d: %d: %d [0: 0]%s\n", t + 1, samples[t], 1024 * samples[t],
			      names[t]);
	at += sprintf(at, "@ 0x401010\n  t*: %d: %d [0: 0]\n", all, 1024 * all);
	for (int t = 0; t < 5; t++)
		if (samples[t])
			at += sprintf(at, "  t%d: %d: %d [0: 0]\n", t + 1, samples[t],
				      1024 * samples[t]);
	sprintf(at, "\nMAPPED_LIBRARIES:\n");
	add(s, text, true);
}

static void expect_threads(const struct profile_series *s, const struct profile_leak_threads *got,
			   uint64_t id, size_t n, double share)
{
	assert_int_equal(s->all.threads[got->thread].id, id);
	assert_int_equal(got->n, n);
	assert_true(fabs(got->share - share) < 1e-9);
}

static void test_threads(void **state)
{
	struct profile_series s = { .type = PROFILE_INUSE_SPACE };
	struct profile_leaks leaks;
	const struct profile_leak *leak;

	(void)state;
	for (int i = 0; i < PROFILES; i++)
		add_threads(&s,
			    (const int[]){ 100 + 10 * i, 20 + 30 * i, 500 - 7 * i, 8 * i, 2 * i });
	leaks = find(&s);
	assert_true(leaks.n_leaks >= 1);
	leak = &leaks.leaks[0];
	assert_int_equal(leak->kind, PROFILE_LEAK_STACK);
	assert_int_equal(leak->n_stacks, 1);
	/* t1 and t2 grew by 10 + 30 per profile, t4 by 8 and t5 by 2; t3 shrank. */
	assert_int_equal(leak->n_threads, 3);
	assert_int_equal(leak->n_named, 3);
	expect_threads(&s, &leak->threads[0], 2, 2, 40.0 / 50);
	expect_threads(&s, &leak->threads[1], 4, 1, 8.0 / 50);
	expect_threads(&s, &leak->threads[2], 5, 1, 2.0 / 50);
	/* All threads together grew by 43 per profile. */
	assert_true(fabs(leak->last - leak->first - 43 * 11 * 1024 / (1 - exp(-1))) < 1e-3);
	profile_leaks_fini(&leaks);
	profile_series_fini(&s);
}

#define CALLERS 40

/*
 * leak() has many callers, which hold a few samples each. It leaks one per caller and profile, or
 * two at one of its lines only. hold() has as many callers and does not grow.
 */
static void add_calls(struct profile_series *s, int time, bool lines)
{
	static unsigned int seed = 1;
	char text[TEXT_MAX], *at = text;

	at += sprintf(at, "--- symbol\n");
	if (lines)
		at += sprintf(at, "#0x401010 5\ta.c\tleak\tleak\n#0x401020 6\ta.c\tleak\tleak\n"
				  "#0x402010 7\tb.c\thold\thold\n");
	else
		at += sprintf(at, "0x40100f leak\n0x40101f leak\n0x40200f hold\n");
	for (int i = 0; i < CALLERS; i++)
		at += sprintf(at, "0x%x caller%d\n", 0x410000 + i, i);
	at += sprintf(at, "---\n--- heap\nheap_v2/1024\n  t*: 0: 0 [0: 0]\n");
	for (int i = 0; i < CALLERS; i++) {
		int held = 10 + rand_r(&seed) % 5;
		int leaked = held + (!lines ? time : i % 2 ? 0 : 2 * time);

		at += sprintf(at, "@ 0x4010%d0 0x%x\n  t*: %d: %d [0: 0]\n", 1 + i % 2,
			      0x410001 + i, leaked, 1024 * leaked);
		held = 10 + rand_r(&seed) % 5;
		at += sprintf(at, "@ 0x402010 0x%x\n  t*: %d: %d [0: 0]\n", 0x410001 + i, held,
			      1024 * held);
	}
	sprintf(at, "\nMAPPED_LIBRARIES:\n");
	add(s, text, false);
}

static const char *name_of(const struct profile_series *s, const struct profile_leak *leak)
{
	return s->all.symbols->functions[leak->line.function].name;
}

static void test_function(void **state)
{
	(void)state;
	for (int lines = 0; lines < 2; lines++) {
		struct profile_series s = { .type = PROFILE_INUSE_SPACE };
		const struct profile_leak *leak;
		struct profile_leaks leaks;

		for (int i = 0; i < PROFILES; i++)
			add_calls(&s, i, lines);
		leaks = find(&s);
		assert_int_equal(leaks.n_leaks, 1);
		leak = &leaks.leaks[0];
		assert_int_equal(leak->kind, lines ? PROFILE_LEAK_LINE : PROFILE_LEAK_FUNCTION);
		assert_string_equal(name_of(&s, leak), "leak");
		assert_int_equal(leak->line.line, lines ? 5 : 0);
		assert_int_equal(leak->n_stacks, lines ? CALLERS / 2 : CALLERS);
		assert_int_equal(leak->n_threads, 0);
		assert_true(leak->p <= leaks.p_certain);
		profile_leaks_fini(&leaks);
		profile_series_fini(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
