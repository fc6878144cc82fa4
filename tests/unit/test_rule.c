// SPDX-License-Identifier: Apache-2.0
/* When a guard takes a profile; the clock and the memory are the test's. */
#include "ops/guard/rule.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define LIMIT (1000 * MIB)
#define MINUTE UINT64_C(60000)

/* --- parsing of rules --- */

static struct guard_rule parsed(const char *text)
{
	struct guard_rule r = { 0 };
	struct err err = ERR_INIT;

	if (guard_rule_parse(text, &r, &err))
		fail_msg("%s: refused", text);
	assert_ptr_equal(r.text, text);
	return r;
}

static void test_levels(void **state)
{
	static const struct {
		const char *text, *word;
		struct until level;
	} rows[] = {
		{ "rss>80%", "rss", { UNTIL_RSS, false, true, 80, 0 } },
		{ "rss>0.5%", "rss", { UNTIL_RSS, false, true, 0.5, 0 } },
		{ "rss>2G", "rss", { UNTIL_RSS, false, false, 2048.0 * MIB, 0 } },
		{ "cgroup>90%", "cgroup", { UNTIL_CGROUP, false, true, 90, 0 } },
		{ "cgroup>1G", "cgroup", { UNTIL_CGROUP, false, false, 1024.0 * MIB, 0 } },
		{ "growth>25%/10m", "growth", { UNTIL_RSS, true, true, 25, 10 * MINUTE } },
		{ "growth>1G/h", "growth", { UNTIL_RSS, true, false, 1024.0 * MIB, 60 * MINUTE } },
		{ "growth>25%", "growth", { UNTIL_RSS, true, true, 25, 0 } },
		{ "+10%/min", "growth", { UNTIL_RSS, true, true, 10, MINUTE } },
		{ "rss+500M", "growth", { UNTIL_RSS, true, false, 500.0 * MIB, 0 } },
		{ "cgroup+64M/5m",
		  "growth",
		  { UNTIL_CGROUP, true, false, 64.0 * MIB, 5 * MINUTE } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct guard_rule r = parsed(rows[i].text);

		assert_int_equal(r.kind, GUARD_LEVEL);
		assert_string_equal(guard_rule_word(&r), rows[i].word);
		assert_true(guard_is_word(rows[i].word));
		assert_int_equal(r.level.of, rows[i].level.of);
		assert_int_equal(r.level.growth, rows[i].level.growth);
		assert_int_equal(r.level.percent, rows[i].level.percent);
		assert_true(r.level.amount == rows[i].level.amount);
		assert_int_equal(r.level.within_ms, rows[i].level.within_ms);
	}
}

/* The kernel accepts windows from half a second to ten seconds, and no stall longer than that. */
static void test_pressure(void **state)
{
	static const struct {
		const char *text;
		uint64_t stall_us, window_us;
	} rows[] = {
		{ "psi>150ms/1s", 150000, 1000000 },	   { "psi>1ms/500ms", 1000, 500000 },
		{ "psi>500ms/500ms", 500000, 500000 },	   { "psi>1/10", 1000000, 10000000 },
		{ "psi>10s/10000ms", 10000000, 10000000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct guard_rule r = parsed(rows[i].text);

		assert_int_equal(r.kind, GUARD_PSI);
		assert_int_equal(r.stall_us, rows[i].stall_us);
		assert_int_equal(r.window_us, rows[i].window_us);
		assert_string_equal(guard_rule_word(&r), "psi");
	}
}

static void test_others(void **state)
{
	static const char *const events[] = { "event:high", "event:max", "event:oom" };
	struct guard_rule r = parsed("every 1h30m");

	(void)state;
	assert_int_equal(r.kind, GUARD_EVERY);
	assert_int_equal(r.every_ms, 90 * MINUTE);
	assert_string_equal(guard_rule_word(&r), "every");
	for (int i = 0; i < GUARD_EVENTS; i++) {
		r = parsed(events[i]);
		assert_int_equal(r.kind, GUARD_EVENT);
		assert_int_equal(r.event, i);
		assert_string_equal(guard_event_key(r.event), events[i] + strlen("event:"));
		assert_string_equal(guard_rule_word(&r), events[i] + strlen("event:"));
		assert_true(guard_is_word(guard_rule_word(&r)));
	}
	assert_true(guard_is_word("psi") && guard_is_word("every"));
	assert_false(guard_is_word("") || guard_is_word("rs") || guard_is_word("rss-"));
}

static void refused(const char *text, enum error id, enum fix fix)
{
	struct guard_rule r = { .text = "untouched" };
	struct err err = ERR_INIT;

	if (!guard_rule_parse(text, &r, &err))
		fail_msg("%s: taken", text);
	assert_int_equal(err.code, ERR_USAGE);
	if (err.ids[0] != id || err.fixes[0] != fix)
		fail_msg("%s: error %d, fix %d", text, err.ids[0], err.fixes[0]);
	assert_string_equal(r.text, "untouched");
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		enum error id;
		enum fix fix;
	} rows[] = {
		{ "", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ "rss", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ "swap>1G", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ "rss<1G", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ "rss>1G/10m", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ " rss>1G", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ "RSS>1G", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ "rss>", ERROR_IN_UNTIL, FIX_NONE },
		{ "rss>0", ERROR_IN_UNTIL, FIX_NONE },
		{ "rss>0%", ERROR_IN_UNTIL, FIX_NONE },
		{ "rss>16E", ERROR_IN_UNTIL, FIX_NONE },
		{ "rss>-1%", ERROR_IN_UNTIL, FIX_NONE },
		{ "rss>nan%", ERROR_IN_UNTIL, FIX_NONE },
		{ "growth>25%/0s", ERROR_IN_UNTIL, FIX_NONE },
		{ "psi", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ "psi>", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ "psi>150ms", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ "psi>/1s", ERROR_NOT_A_VALUE, FIX_NONE },
		{ "psi>150ms/", ERROR_NOT_A_VALUE, FIX_NONE },
		{ "psi>15%/1s", ERROR_NOT_A_VALUE, FIX_NONE },
		{ "psi>150ms/1s/1s", ERROR_NOT_A_VALUE, FIX_NONE },
		{ "psi>0ms/1s", ERROR_PSI_WINDOW, FIX_NONE },
		{ "psi>1001ms/1s", ERROR_PSI_WINDOW, FIX_NONE },
		{ "psi>1ms/499ms", ERROR_PSI_WINDOW, FIX_NONE },
		{ "psi>1ms/10001ms", ERROR_PSI_WINDOW, FIX_NONE },
		{ "psi>9223372036854775807ms/1s", ERROR_PSI_WINDOW, FIX_NONE },
		{ "psi>1ms/9223372036854775807ms", ERROR_PSI_WINDOW, FIX_NONE },
		{ "psi>1ms/9223372036854775808ms", ERROR_NOT_A_VALUE, FIX_NONE },
		{ "event:", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ "event:low", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ "event:oom_kill", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ "event:high ", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ "event", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ "every", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ "every10m", ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES },
		{ "every ", ERROR_NOT_A_VALUE, FIX_NONE },
		{ "every  10m", ERROR_NOT_A_VALUE, FIX_NONE },
		{ "every fortnight", ERROR_NOT_A_VALUE, FIX_NONE },
		{ "every 9223372036854775808ms", ERROR_NOT_A_VALUE, FIX_NONE },
		{ "every 0s", ERROR_MUST_BE_MORE_THAN_0, FIX_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		refused(rows[i].text, rows[i].id, rows[i].fix);
}

/* Longer than any rule, and than the buffers it is copied to. */
static void test_too_long(void **state)
{
	static const char *const starts[] = { "rss>",	  "growth>1%/", "psi>",
					      "psi>1ms/", "event:",	"every " };
	char text[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		struct guard_rule r;
		struct err err = ERR_INIT;

		for (size_t len = 50; len < sizeof(text); len += len < 80 ? 1 : 401) {
			memset(text, '1', len);
			memcpy(text, starts[i], strlen(starts[i]));
			text[len] = '\0';
			assert_int_equal(guard_rule_parse(text, &r, &err), -1);
			assert_int_equal(err.code, ERR_USAGE);
		}
	}
	/* Leading zeros count for the length of a copied part, but not for the number. */
	memset(text, '0', sizeof(text));
	strcpy(text + sizeof(text) - 8, "1s/1s");
	memcpy(text, "psi>", 4);
	refused(text, ERROR_UNTIL_UNKNOWN, FIX_WHEN_EXAMPLES);
	strcpy(text + sizeof(text) - 8, "1s");
	memcpy(text, "every ", 6);
	assert_int_equal(parsed(text).every_ms, 1000);
}

/* --- levels --- */

static const struct guard_policy usual = { .cooldown_ms = 10 * MINUTE, .again_percent = 10 };

/* One process, and what a rule remembers about it. */
struct seen {
	struct guard_rule rule;
	struct guard_policy policy;
	struct guard_memory memory;
	uint64_t limit;
	double threshold;
};

static bool fires(struct seen *s, uint64_t now_ms, uint64_t bytes)
{
	return guard_level_fires(&s->rule, &s->memory, &s->policy, now_ms, bytes, s->limit,
				 &s->threshold);
}

static struct seen watched(const char *text)
{
	return (struct seen){ .rule = parsed(text), .policy = usual, .limit = LIMIT };
}

/* Fires when the level is crossed upwards or exceeded at first, not while memory stays there. */
static void test_crossing(void **state)
{
	struct seen s = watched("rss>80%");

	(void)state;
	assert_false(fires(&s, 1, 0));
	assert_true(s.threshold == 800.0 * MIB);
	assert_false(fires(&s, 2, 800 * MIB - 1));
	assert_true(fires(&s, 3, 800 * MIB));
	assert_false(fires(&s, 4, 800 * MIB));
	assert_false(fires(&s, 1000 * MINUTE, 879 * MIB));
	s = watched("rss>80%");
	assert_true(fires(&s, 1, 900 * MIB));
	assert_false(fires(&s, 2, 900 * MIB));
	/* The clock may start at 0. */
	s = watched("rss>80%");
	assert_true(fires(&s, 0, 900 * MIB));
}

/* Memory that fluctuates around the level fires again only after it was below 95 % of it. */
static void test_hysteresis(void **state)
{
	struct seen s = watched("rss>80%");
	uint64_t now = 1;

	(void)state;
	assert_true(fires(&s, now, 800 * MIB));
	now += 11 * MINUTE;
	assert_false(fires(&s, now, 760 * MIB));
	assert_false(fires(&s, now + 1, 800 * MIB));
	assert_false(fires(&s, now + 2, 760 * MIB - 1));
	assert_false(fires(&s, now + 3, 800 * MIB - 1));
	assert_true(fires(&s, now + 4, 800 * MIB));
}

static void test_cooldown(void **state)
{
	struct seen s = watched("rss>80%");

	(void)state;
	assert_true(fires(&s, 1000, 800 * MIB));
	assert_false(fires(&s, 2000, 700 * MIB));
	assert_false(fires(&s, 3000, 800 * MIB));
	assert_false(fires(&s, 1000 + 10 * MINUTE - 1, 800 * MIB));
	/* A level that was crossed during the cooldown still fires. */
	assert_true(fires(&s, 1000 + 10 * MINUTE, 800 * MIB));
	assert_false(fires(&s, 1000 + 30 * MINUTE, 800 * MIB));
	/* The longest possible cooldown. */
	s = watched("rss>80%");
	s.policy.cooldown_ms = INT64_MAX;
	assert_true(fires(&s, 1000, 800 * MIB));
	assert_false(fires(&s, 2000, 700 * MIB));
	assert_false(fires(&s, INT64_MAX, 800 * MIB));
	s = watched("rss>80%");
	s.policy.cooldown_ms = 0;
	assert_true(fires(&s, 1000, 800 * MIB));
	assert_false(fires(&s, 1000, 700 * MIB));
	assert_true(fires(&s, 1000, 800 * MIB));
}

/* Growth since the last profile fires again, whatever the cooldown. */
static void test_again(void **state)
{
	struct seen s = watched("rss>50%");

	(void)state;
	assert_true(fires(&s, 1, 500 * MIB));
	assert_false(fires(&s, 2, 550 * MIB - 1));
	assert_true(fires(&s, 3, 550 * MIB));
	/* From now on, growth counts from this profile. */
	assert_false(fires(&s, 4, 600 * MIB));
	assert_true(fires(&s, 5, 605 * MIB + MIB / 2));
	assert_false(fires(&s, 6, 500 * MIB));
	assert_false(fires(&s, 7, 610 * MIB));
	/* Never, if disabled. */
	s = watched("rss>50%");
	s.policy.again_percent = 0;
	assert_true(fires(&s, 1, 500 * MIB));
	assert_false(fires(&s, 1000 * MINUTE, 100000 * MIB));
	s = watched("rss>50%");
	s.policy.again_percent = 1000000;
	assert_true(fires(&s, 1, MIB * 500));
	assert_false(fires(&s, 2, MIB * 500 * 10000));
	assert_true(fires(&s, 3, MIB * 500 * 10001));
}

/* Also after a drop below the level during the cooldown: memory may be about to run out. */
static void test_again_from_below(void **state)
{
	struct seen s = watched("rss>80%");

	(void)state;
	assert_true(fires(&s, 1, 800 * MIB));
	assert_false(fires(&s, 2, 100 * MIB));
	assert_false(fires(&s, 3, 880 * MIB - 1));
	assert_true(fires(&s, 4, 880 * MIB));
	assert_false(fires(&s, 5, 890 * MIB));
	s = watched("rss>80%");
	s.policy.again_percent = 0;
	assert_true(fires(&s, 1, 800 * MIB));
	assert_false(fires(&s, 2, 100 * MIB));
	assert_false(fires(&s, 3, 1000 * MIB));
}

/* Without a limit, a percentage never fires. A limit that appears or disappears counts at once. */
static void test_limits(void **state)
{
	struct seen s = watched("rss>80%");

	(void)state;
	s.limit = 0;
	assert_false(fires(&s, 1, UINT64_MAX));
	assert_true(isinf(s.threshold));
	s.limit = UINT64_MAX;
	assert_false(fires(&s, 2, UINT64_MAX / 2));
	assert_true(isfinite(s.threshold));
	assert_true(fires(&s, 3, UINT64_MAX));
	s.limit = 0;
	assert_false(fires(&s, 4, UINT64_MAX));
	s.limit = LIMIT;
	assert_false(fires(&s, 5, 900 * MIB));
	assert_true(fires(&s, 3 + 10 * MINUTE, 900 * MIB));
	/* The limit was raised: the level is far away, and fires again when it is reached. */
	s.limit = 2 * LIMIT;
	assert_false(fires(&s, 11 * MINUTE, 900 * MIB));
	assert_true(fires(&s, 21 * MINUTE, 1600 * MIB));
	/* A level above the limit. */
	s = watched("rss>200%");
	assert_false(fires(&s, 1, LIMIT));
	assert_true(fires(&s, 2, 2 * LIMIT));
}

/* --- growth --- */

/* Slow growth does not fire. Fast growth does, and later growth counts from there. */
static void test_growth(void **state)
{
	struct seen s = watched("growth>25%/10m");
	uint64_t now = 1000000;

	(void)state;
	for (int i = 0; i < 7200; i++, now += 1000)
		assert_false(fires(&s, now, (uint64_t)(10000 + i) * MIB / 10));
	/* The minimum of the last ten minutes, in parts of more than nine seconds. */
	assert_in_range((uint64_t)(s.threshold / MIB), 2065, 2076);
	assert_true(fires(&s, now, 2080 * MIB));
	assert_false(fires(&s, now + 1000, 2200 * MIB));
	assert_true(fires(&s, now + 2000, 2288 * MIB));
	/* Memory stays there: after ten minutes, this is no growth. */
	for (int i = 0; i < 1200; i++)
		assert_false(fires(&s, now + 3000 + (uint64_t)i * 1000, 2288 * MIB));
	assert_true(s.threshold == 2860.0 * MIB);
	assert_true(fires(&s, now + 1203000, 2860 * MIB));
}

/* Memory shrinks and comes back: growth counts from the minimum, not from the last value. */
static void test_growth_from_the_least(void **state)
{
	struct seen s = watched("growth>50M/1m");

	(void)state;
	assert_false(fires(&s, 1000, 100 * MIB));
	assert_false(fires(&s, 2000, 60 * MIB));
	assert_false(fires(&s, 3000, 109 * MIB));
	assert_true(fires(&s, 4000, 110 * MIB));
	/* The machine was suspended for a year: nothing is known about the last minute. */
	assert_false(fires(&s, UINT64_C(31536000000), 900 * MIB));
	assert_true(s.threshold == 950.0 * MIB);
}

/* Growth since the process was first looked at. */
static void test_growth_since_then(void **state)
{
	struct seen s = watched("growth>25%");

	(void)state;
	assert_false(fires(&s, 1, 400 * MIB));
	assert_false(fires(&s, 2, 100 * MIB));
	assert_false(fires(&s, 3, 499 * MIB));
	assert_true(fires(&s, 4, 500 * MIB));
	/* A percentage of nothing never fires. */
	s = watched("growth>25%");
	assert_false(fires(&s, 1, 0));
	assert_false(fires(&s, 2, 900 * MIB));
	/* The longest possible time. */
	s = watched("growth>25%/9223372036854775807ms");
	assert_false(fires(&s, 1, 400 * MIB));
	assert_true(fires(&s, INT64_MAX, 500 * MIB));
}

/* --- events and timers --- */

static void test_events(void **state)
{
	struct guard_memory m = { 0 };

	(void)state;
	assert_true(guard_event_fires(&m, &usual, 1000, 0));
	assert_false(guard_event_fires(&m, &usual, 1001, 0));
	assert_false(guard_event_fires(&m, &usual, 1000 + 10 * MINUTE - 1, 0));
	/* An ignored event does not extend the cooldown. */
	assert_true(guard_event_fires(&m, &usual, 1000 + 10 * MINUTE, 0));
	assert_false(guard_event_fires(&m, &usual, 1000 + 20 * MINUTE - 1, 0));
	/* Memory that has grown fires again, but only if its previous size is known. */
	assert_false(guard_event_fires(&m, &usual, 1000 + 10 * MINUTE, UINT64_MAX));
	m = (struct guard_memory){ 0 };
	assert_true(guard_event_fires(&m, &usual, 1000, 500 * MIB));
	assert_false(guard_event_fires(&m, &usual, 1001, 550 * MIB - 1));
	assert_true(guard_event_fires(&m, &usual, 1002, 550 * MIB));
	assert_false(guard_event_fires(&m, &usual, 1003, 600 * MIB));
}

static void test_every(void **state)
{
	struct guard_rule r = parsed("every 10m");
	struct guard_memory m = { 0 };

	(void)state;
	assert_false(guard_every_fires(&r, &m, 5000));
	assert_int_equal(m.every_ms, 5000 + 10 * MINUTE);
	assert_false(guard_every_fires(&r, &m, 5000 + 10 * MINUTE - 1));
	assert_true(guard_every_fires(&r, &m, 5000 + 10 * MINUTE));
	assert_false(guard_every_fires(&r, &m, 5000 + 10 * MINUTE));
	/* A late check does not delay the next one. */
	assert_true(guard_every_fires(&r, &m, 5000 + 29 * MINUTE));
	assert_int_equal(m.every_ms, 5000 + 30 * MINUTE);
	assert_true(guard_every_fires(&r, &m, 5000 + 30 * MINUTE));
}

/* Missed intervals fire once, and nothing fires before its time. */
static void test_every_missed(void **state)
{
	struct guard_rule r = parsed("every 1m");
	struct guard_memory m = { 0 };

	(void)state;
	assert_false(guard_every_fires(&r, &m, 0));
	assert_true(guard_every_fires(&r, &m, 1000 * MINUTE + 1));
	assert_int_equal(m.every_ms, 1001 * MINUTE);
	assert_false(guard_every_fires(&r, &m, 1000 * MINUTE + 2));
	assert_false(guard_every_fires(&r, &m, MINUTE));
	assert_true(guard_every_fires(&r, &m, 1001 * MINUTE));
	r = parsed("every 1ms");
	m = (struct guard_memory){ 0 };
	assert_false(guard_every_fires(&r, &m, 7));
	assert_true(guard_every_fires(&r, &m, INT64_MAX));
	assert_int_equal(m.every_ms, (uint64_t)INT64_MAX + 1);
	r = parsed("every 9223372036854775807ms");
	m = (struct guard_memory){ 0 };
	assert_false(guard_every_fires(&r, &m, 7));
	assert_false(guard_every_fires(&r, &m, INT64_MAX));
}

/* --- profiles that failed --- */

static void test_fires_again(void **state)
{
	struct seen s = watched("rss>80%");

	(void)state;
	assert_true(fires(&s, 1000, 800 * MIB));
	guard_fires_again(&s.memory, 2000, 500);
	assert_false(fires(&s, 2499, 800 * MIB));
	assert_true(fires(&s, 2500, 800 * MIB));
	assert_false(fires(&s, 3000, 800 * MIB));
	guard_fires_again(&s.memory, 3000, 0);
	assert_true(fires(&s, 3000, 800 * MIB));
	/* Without a profile, growth does not fire any sooner. */
	guard_fires_again(&s.memory, 3100, 500);
	assert_false(fires(&s, 3200, 900 * MIB));
	assert_true(fires(&s, 3600, 900 * MIB));
	/* Only if the condition still holds. */
	guard_fires_again(&s.memory, 4000, 0);
	assert_false(fires(&s, 4001, 799 * MIB));
	assert_true(guard_event_fires(&s.memory, &usual, 5000, 0));
	guard_fires_again(&s.memory, 5000, 10);
	assert_false(guard_event_fires(&s.memory, &usual, 5009, 0));
	assert_true(guard_event_fires(&s.memory, &usual, 5010, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_pressure),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_crossing),
		cmocka_unit_test(test_hysteresis),
		cmocka_unit_test(test_cooldown),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_again_from_below),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_growth_from_the_least),
		cmocka_unit_test(test_growth_since_then),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_every),
		cmocka_unit_test(test_every_missed),
		cmocka_unit_test(test_fires_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
