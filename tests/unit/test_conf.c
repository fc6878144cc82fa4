// SPDX-License-Identifier: Apache-2.0
/*
 * How each version of jemalloc reads a string, according to its source. tests/gate/conf.t runs
 * these cases and more with the versions that are available.
 */
#include "jemalloc/conf_lint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define V(major, minor, patch) CONF_VERSION(major, minor, patch)

static struct conf_lint lint;

static const char *reading_of(const char *text, int version)
{
	conf_lint(text, version, TRI_YES, &lint);
	assert_int_equal(lint.n_readings, 1);
	return lint.readings[0].text;
}

struct expected {
	const char *text;
	int version;
	const char *reading;
};

static const struct expected table[] = {
	{ "", V(5, 3, 0), "opt.prof false" },
	{ "prof:true", V(3, 6, 0), "opt.prof true" },
	{ "prof:true,prof:false", V(5, 3, 1), "opt.prof false" },
	{ "prof:true,", V(4, 5, 0), "opt.prof true" },
	{ "prof=true,prof:true", V(5, 3, 0), "opt.prof false; the rest dropped" },
	{ "prof:true, prof_active:false", V(5, 2, 1), "opt.prof true; the rest dropped" },
	{ "prof:true,prof_active", V(5, 3, 0), "opt.prof true; the rest dropped" },
	{ "prof:1", V(5, 3, 0), "opt.prof false; prof ignored (Invalid conf value)" },
	{ "prof_actve:true", V(5, 3, 0), "opt.prof false; prof_actve ignored (Invalid conf pair)" },

	{ "lg_prof_sample:64", V(3, 6, 0),
	  "opt.prof false; lg_prof_sample ignored (Out-of-range conf value)" },
	{ "lg_prof_sample:64", V(4, 0, 4), "opt.prof false; lg_prof_sample:63" },
	{ "lg_prof_sample:-1", V(3, 6, 0),
	  "opt.prof false; lg_prof_sample ignored (Out-of-range conf value)" },
	{ "lg_prof_sample:-1", V(5, 3, 0), "opt.prof false; lg_prof_sample:63" },
	{ "lg_prof_sample:0x13", V(5, 3, 0), "opt.prof false" },
	{ "lg_prof_sample: 19", V(5, 3, 0), "opt.prof false" },
	{ "lg_prof_sample:19 ", V(5, 3, 0),
	  "opt.prof false; lg_prof_sample ignored (Invalid conf value)" },
	{ "lg_prof_sample:08", V(5, 3, 0),
	  "opt.prof false; lg_prof_sample ignored (Invalid conf value)" },
	{ "lg_prof_interval:", V(5, 2, 1), "opt.prof false; lg_prof_interval:0" },
	{ "lg_prof_interval:", V(5, 3, 0),
	  "opt.prof false; lg_prof_interval ignored (Invalid conf value)" },
	{ "lg_prof_interval:18446744073709551615", V(5, 2, 1),
	  "opt.prof false; lg_prof_interval ignored (Invalid conf value)" },
	{ "lg_prof_interval:18446744073709551615", V(5, 3, 0), "opt.prof false" },
	{ "lg_prof_interval:64", V(5, 3, 0),
	  "opt.prof false; lg_prof_interval ignored (Out-of-range conf value)" },

	/* Numbers with other bases, signs and blanks; values that do, or only seem to, overflow. */
	{ "lg_prof_sample:077", V(5, 3, 0), "opt.prof false" },
	{ "lg_prof_sample:0777", V(5, 3, 0), "opt.prof false; lg_prof_sample:63" },
	{ "lg_prof_sample:\t+19", V(5, 3, 0), "opt.prof false" },
	{ "lg_prof_sample:0X3f", V(5, 3, 0), "opt.prof false" },
	{ "lg_prof_sample:0xFF", V(5, 3, 0), "opt.prof false; lg_prof_sample:63" },
	{ "lg_prof_sample:0x", V(5, 3, 0),
	  "opt.prof false; lg_prof_sample ignored (Invalid conf value)" },
	{ "lg_prof_sample:0xg", V(5, 3, 0),
	  "opt.prof false; lg_prof_sample ignored (Invalid conf value)" },
	{ "lg_prof_sample:-", V(5, 3, 0),
	  "opt.prof false; lg_prof_sample ignored (Invalid conf value)" },
	{ "lg_prof_sample:18446744073709551616", V(5, 3, 0),
	  "opt.prof false; lg_prof_sample ignored (Invalid conf value)" },
	{ "narenas_ratio:65536", V(5, 3, 0),
	  "opt.prof false; narenas_ratio ignored (Invalid conf value)" },
	{ "narenas_ratio:1x", V(5, 3, 0),
	  "opt.prof false; narenas_ratio ignored (Invalid conf value)" },
	{ "narenas_ratio:x", V(5, 3, 0),
	  "opt.prof false; narenas_ratio ignored (Invalid conf value)" },
	{ "narenas_ratio:2.50", V(5, 3, 0), "opt.prof false" },

	{ "prof_thread_active_init:false", V(3, 6, 0),
	  "opt.prof false; prof_thread_active_init ignored (Invalid conf pair)" },
	{ "prof_log:true", V(5, 1, 0), "opt.prof false; prof_log ignored (Invalid conf pair)" },
	{ "prof_leak:true", V(3, 6, 0), "opt.prof true" },
	{ "prof_leak_error:true", V(5, 3, 0), "opt.prof true" },
	{ "prof_leak_error:true", V(5, 2, 1),
	  "opt.prof false; prof_leak_error ignored (Invalid conf pair)" },

	{ "d:p", V(4, 5, 0), "opt.prof false; dss:primary" },
	{ "p:d", V(4, 4, 0), "opt.prof false; purge:decay" },
	{ "p:d", V(5, 0, 1), "opt.prof false; percpu_arena:disabled" },
	{ ":a", V(5, 0, 1), "opt.prof false;  ignored (Invalid conf value)" },
	{ ":a", V(5, 1, 0), "opt.prof false; metadata_thp:auto" },
	{ "h:l", V(5, 3, 1), "opt.prof false; hpa_hugify_style:lazy" },
	{ "thp:true", V(4, 5, 0), "opt.prof false" },
	{ "thp:true", V(5, 0, 1), "opt.prof false; thp ignored (Invalid conf pair)" },
	{ "thp:true", V(5, 1, 0), "opt.prof false; thp ignored (Invalid conf value)" },
	{ "junk:free", V(3, 6, 0), "opt.prof false; junk ignored (Invalid conf value)" },
	{ "junk:free", V(4, 0, 4), "opt.prof false" },
	{ "narenas:default", V(5, 2, 1), "opt.prof false; narenas ignored (Invalid conf value)" },
	{ "narenas:default", V(5, 3, 0), "opt.prof false" },
	{ "lg_tcache_max:40", V(5, 2, 1), "opt.prof false" },
	{ "lg_tcache_max:40", V(5, 3, 0), "opt.prof false; lg_tcache_max:23" },
	{ "lg_tcache_max:40", V(5, 3, 1), "opt.prof false; lg_tcache_max:15" },
	{ "bin_shards:1-128:2|129-256:4", V(5, 2, 0), "opt.prof false" },
	{ "bin_shards:1-128", V(5, 2, 0), "opt.prof false; bin_shards ignored (Invalid settings)" },
	{ "hpa_dirty_mult:-1,narenas_ratio:.5", V(5, 3, 0), "opt.prof false" },
	{ "narenas_ratio:1.", V(5, 3, 0),
	  "opt.prof false; narenas_ratio ignored (Invalid conf value)" },

	/*
	 * abort_conf: unknown before 5.0, effective at once in 5.0, and at the end of a source
	 * later.
	 */
	{ "abort_conf:true,x:1", V(4, 5, 0),
	  "opt.prof false; abort_conf ignored (Invalid conf pair); x ignored (Invalid conf pair)" },
	{ "abort_conf:true,x:1", V(5, 0, 1),
	  "opt.prof false; x ignored (Invalid conf pair); the program aborts" },
	{ "x:1,abort_conf:true", V(5, 0, 1), "opt.prof false; x ignored (Invalid conf pair)" },
	{ "x:1,abort_conf:true,prof:true", V(5, 0, 1),
	  "opt.prof true; x ignored (Invalid conf pair); the program aborts" },
	{ "x:1,abort_conf:true", V(5, 1, 0),
	  "opt.prof false; x ignored (Invalid conf pair); the program aborts" },
	{ "abort_conf:true,experimental_x:1", V(5, 1, 0),
	  "opt.prof false; experimental_x ignored (Invalid conf pair); the program aborts" },
	{ "abort_conf:true,experimental_x:1", V(5, 2, 0),
	  "opt.prof false; experimental_x ignored (Invalid conf pair)" },
	{ "abort_conf:true,prof=1", V(5, 2, 1), "opt.prof false; the rest dropped" },
	{ "abort_conf:true,prof=1", V(5, 3, 0),
	  "opt.prof false; the rest dropped; the program aborts" },
	{ "abort_conf:true,", V(5, 2, 1), "opt.prof false" },
	{ "abort_conf:true,", V(5, 3, 0), "opt.prof false; the program aborts" },
	{ "abort_conf:true,prof_leak_error:true", V(5, 3, 0), "opt.prof true; the program aborts" },
};

static void reads_as_each_version_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const char *got = reading_of(table[i].text, table[i].version);

		if (strcmp(got, table[i].reading) != 0)
			fail_msg("\"%s\", %d: got \"%s\", not \"%s\"", table[i].text,
				 table[i].version, got, table[i].reading);
	}
}

/* An expected finding: its level, a part of the text, and a part of the fix. */
struct said {
	const char *text;
	int version;
	enum tristate with_prof;
	enum conf_level level;
	const char *detail, *fix;
};

static const struct said findings[] = {
	{ "prof=true", 0, TRI_UNKNOWN, CONF_ERROR, "'='", "':'" },
	{ "\"prof:true\"", 0, TRI_UNKNOWN, CONF_ERROR, "dropped", "quotes" },
	{ "prof:true;prof_active:false", 0, TRI_UNKNOWN, CONF_ERROR, "invalid value", "','" },
	{ "prof:true, prof_active:false", 0, TRI_UNKNOWN, CONF_ERROR, "18 bytes", "blank" },
	{ "MALLOC_CONF=prof:true", 0, TRI_UNKNOWN, CONF_ERROR, "dropped", "the variable's name" },
	{ "opt.prof:true", 0, TRI_UNKNOWN, CONF_ERROR, "'.'", "opt." },
	{ "prof-active:true", 0, TRI_UNKNOWN, CONF_ERROR, "'-'", "'_'" },
	{ "prof", 0, TRI_UNKNOWN, CONF_ERROR, "no value", "prof:VALUE" },
	{ "prof_actve:true", 0, TRI_UNKNOWN, CONF_ERROR, "unknown option", "prof_active?" },
	{ "PROF:true", 0, TRI_UNKNOWN, CONF_ERROR, "unknown option", "prof?" },
	{ "qqqqqq:true", 0, TRI_UNKNOWN, CONF_ERROR, "unknown option", "remove it" },
	{ "prof:Yes", 0, TRI_UNKNOWN, CONF_ERROR, "invalid value", "prof:true" },
	{ "prof:TRUE", 0, TRI_UNKNOWN, CONF_ERROR, "invalid value", "prof:true" },
	{ "lg_prof_sample:512k", 0, TRI_UNKNOWN, CONF_ERROR, "invalid value", "exponent of two" },
	{ "lg_prof_sample:524288", 0, TRI_UNKNOWN, CONF_WARNING, "uses 63", "lg_prof_sample:19" },
	{ "prof:true,", 0, TRI_UNKNOWN, CONF_WARNING, "comma", "comma" },
	{ "prof:true,prof:false", 0, TRI_UNKNOWN, CONF_WARNING, "again", "" },
	{ "d:primary", 0, TRI_UNKNOWN, CONF_WARNING, "accepted as dss", "dss:primary" },
	{ "thp:a", 0, TRI_UNKNOWN, CONF_WARNING, "accepted as always", "thp:always" },
	{ "lg_dirty_mult:3", 0, TRI_UNKNOWN, CONF_WARNING, "up to 4.5.0", "" },
	{ "lg_dirty_mult:3", V(5, 3, 0), TRI_YES, CONF_ERROR, "before 5.0.0", "remove it" },
	{ "prof_bt_max:9", V(5, 3, 0), TRI_YES, CONF_ERROR, "from 5.3.1 on", "remove it" },
	{ "prof_stats:true", 0, TRI_UNKNOWN, CONF_NOTE, "5.3.0 and newer", "" },
	{ "abort_conf:true", 0, TRI_UNKNOWN, CONF_NOTE, "5.0.0 and newer", "" },
	{ "prof:true", V(5, 3, 0), TRI_NO, CONF_ERROR, "without profiling", "--enable-prof" },
	{ "prof:true", 0, TRI_UNKNOWN, CONF_NOTE, "--enable-prof", "" },
	{ "utrace:true", 0, TRI_UNKNOWN, CONF_WARNING, "special builds", "" },

	{ "prof_active:true", 0, TRI_UNKNOWN, CONF_WARNING, "prof:true is missing", "prof:true" },
	{ "tcache:true", 0, TRI_UNKNOWN, CONF_NOTE, "without prof:true", "prof:true" },
	{ "prof:true", 0, TRI_UNKNOWN, CONF_NOTE, "every 512K", "prof_active:false" },
	{ "prof:true,lg_prof_interval:20", 0, TRI_UNKNOWN, CONF_WARNING, "1024 for each GiB",
	  "34" },
	{ "prof:true,lg_prof_interval:34", 0, TRI_UNKNOWN, CONF_NOTE, "every 16.0G", "" },
	{ "prof:true,prof_active:false", V(5, 2, 1), TRI_YES, CONF_NOTE, "allocated before", "" },
	{ "prof:true,prof_thread_active_init:false", 0, TRI_UNKNOWN, CONF_WARNING, "no thread",
	  "leave it out" },
	{ "prof:true,lg_prof_sample:0", 0, TRI_UNKNOWN, CONF_WARNING, "every single", "19" },
	{ "prof:true,lg_prof_sample:8", 0, TRI_UNKNOWN, CONF_WARNING, "slows", "19" },
	{ "prof:true,lg_prof_sample:40", 0, TRI_UNKNOWN, CONF_WARNING, "empty", "19" },
	{ "prof:true,prof_final:true", 0, TRI_UNKNOWN, CONF_NOTE, "when the program exits", "" },
	{ "prof:true", V(3, 6, 0), TRI_YES, CONF_NOTE, "before 4.0", "" },
	{ "prof:true,prof_gdump:true", 0, TRI_UNKNOWN, CONF_WARNING, "new maximum",
	  "at intervals" },
	{ "prof_leak:true", 0, TRI_UNKNOWN, CONF_NOTE, "implies opt.prof", "" },
	{ "prof_leak:true", 0, TRI_UNKNOWN, CONF_WARNING, "reports nothing", "prof_final:true" },
	{ "prof_leak_error:true", 0, TRI_UNKNOWN, CONF_WARNING, "without prof_final",
	  "prof_final" },
	{ "prof:true,prof_prefix:", 0, TRI_UNKNOWN, CONF_NOTE, "empty", "" },
	{ "abort_conf:true,x:1", 0, TRI_UNKNOWN, CONF_ERROR, "aborts at its start", "fix them" },
	{ "confirm_conf:true", 0, TRI_UNKNOWN, CONF_NOTE, "stderr", "" },
	{ "lg_tcache_max:63", V(5, 2, 1), TRI_YES, CONF_WARNING, "may crash", "12" },
};

static void says_what_is_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(findings) / sizeof(findings[0]); i++) {
		const struct said *want = &findings[i];
		bool found = false;

		conf_lint(want->text, want->version, want->with_prof, &lint);
		for (size_t j = 0; j < lint.n; j++)
			found |= lint.v[j].level == want->level &&
				 strstr(lint.v[j].text, want->detail) &&
				 strstr(lint.v[j].fix, want->fix);
		if (!found)
			fail_msg("\"%s\": nothing like \"%s\"", want->text, want->detail);
	}
}

/* Strings that are recommended everywhere must not cause errors or warnings. */
static void good_strings_are_good(void **state)
{
	static const char *const good[] = {
		"prof:true",
		"prof:true,prof_active:false",
		"prof:true,prof_active:false,lg_prof_sample:19,prof_prefix:/var/tmp/redis",
		"background_thread:true,dirty_decay_ms:5000,muzzy_decay_ms:5000",
		"prof:true,lg_prof_interval:34,metadata_thp:auto,narenas:4",
		"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		conf_lint(good[i], 0, TRI_UNKNOWN, &lint);
		assert_int_equal(conf_lint_count(&lint, CONF_ERROR), 0);
		assert_int_equal(conf_lint_count(&lint, CONF_WARNING), 0);
	}
}

static void a_long_prefix_is_cut(void **state)
{
	char text[5000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "prof:true,prof_prefix:", 22);
	text[sizeof(text) - 1] = '\0';
	assert_string_equal(reading_of(text, V(5, 3, 0)), "opt.prof true; prof_prefix:4096");
	assert_true(conf_lint_count(&lint, CONF_WARNING) >= 2);
}

static void readings_are_grouped(void **state)
{
	(void)state;
	conf_lint("prof_leak_error:true", 0, TRI_YES, &lint);
	assert_int_equal(lint.n_readings, 2);
	assert_int_equal(lint.readings[0].from, conf_versions[0]);
	assert_int_equal(lint.readings[0].to, V(5, 2, 1));
	assert_int_equal(lint.readings[1].from, V(5, 3, 0));
	assert_int_equal(lint.readings[1].to, conf_versions[CONF_VERSIONS - 1]);
}

static void more_findings_than_room(void **state)
{
	char text[4 * CONF_FINDINGS_MAX * 2 + 1];

	(void)state;
	for (size_t i = 0; i < CONF_FINDINGS_MAX * 2; i++)
		memcpy(text + i * 4, "x:1,", 5);
	conf_lint(text, 0, TRI_UNKNOWN, &lint);
	assert_int_equal(lint.n, CONF_FINDINGS_MAX);
	assert_true(lint.dropped >= CONF_FINDINGS_MAX);
}

/* Each name is one that jemalloc can read, and rows with the same name do not overlap. */
static void the_table_is_sound(void **state)
{
	(void)state;
	for (const struct conf_option *o = conf_options; o->name; o++) {
		assert_int_equal(strspn(o->name, "abcdefghijklmnopqrstuvwxyz_"), strlen(o->name));
		assert_true(!o->until || o->since < o->until);
		assert_true(o->min <= o->max);
		for (const struct conf_option *p = o + 1; p->name; p++)
			assert_true(strcmp(o->name, p->name) != 0 ||
				    (o->until && o->until <= p->since) ||
				    (p->until && p->until <= o->since));
	}
}

static void later_sources_win(void **state)
{
	struct conf_state s;

	(void)state;
	conf_state_init(&s, V(5, 3, 0), TRI_YES);
	conf_state_apply(&s, "prof:true,lg_prof_sample:17", CONF_FROM_SYMBOL);
	conf_state_apply(&s, "prof:false", CONF_FROM_LINK);
	conf_state_apply(&s, "prof:true,lg_prof_sample:x", CONF_FROM_ENVIRONMENT);
	conf_state_finish(&s);
	assert_int_equal(s.v[CONF_PROF].n, 1);
	assert_int_equal(s.v[CONF_PROF].source, CONF_FROM_ENVIRONMENT);
	assert_int_equal(s.v[CONF_LG_SAMPLE].n, 17);
	assert_int_equal(s.v[CONF_LG_SAMPLE].source, CONF_FROM_SYMBOL);
	assert_true(s.had_error);
	assert_false(s.aborts);
}

static void versions_are_read(void **state)
{
	char buf[16];

	(void)state;
	assert_int_equal(conf_version_parse("5.3.0-0-g54eaed1d"), V(5, 3, 0));
	assert_int_equal(conf_version_parse("5.3"), V(5, 3, 0));
	assert_int_equal(conf_version_parse("3.6.0"), V(3, 6, 0));
	assert_int_equal(conf_version_parse("2.2.5"), 0);
	assert_int_equal(conf_version_parse("0.0.0-0-g0"), 0);
	assert_int_equal(conf_version_parse("new"), 0);
	assert_int_equal(conf_version_parse(""), 0);
	assert_string_equal(conf_version_text(V(5, 2, 1), buf, sizeof(buf)), "5.2.1");
}

static void assert_merged(const char *had, const char *wanted, const char *both)
{
	char buf[64];

	assert_true(conf_merge(had, wanted, buf, sizeof(buf)));
	assert_string_equal(buf, both);
}

static void merges(void **state)
{
	char buf[16];

	(void)state;
	assert_merged("", "prof:true", "prof:true");
	assert_merged("narenas:2", "prof:true", "narenas:2,prof:true");
	assert_merged("prof:false,narenas:2,prof_active:true,", "prof:true,prof_active:false",
		      "narenas:2,prof:true,prof_active:false");
	assert_merged("prof_a:1,pro:2", "prof:true", "prof_a:1,pro:2,prof:true");
	assert_merged("prof_prefix:/a b:c,prof:x", "prof:true", "prof_prefix:/a b:c,prof:true");
	assert_false(conf_merge("narenas", "prof:true", buf, sizeof(buf)));
	assert_false(conf_merge("a b:1", "prof:true", buf, sizeof(buf)));
	assert_merged("a:1", "prof:true", "a:1,prof:true");
	assert_true(conf_merge("abc:1", "prof:true", buf, sizeof(buf))); /* 15 bytes */
	assert_false(conf_merge("abcd:1", "prof:true", buf, sizeof(buf)));
	assert_false(conf_merge("a:12345678901234567890", "prof:true", buf, sizeof(buf)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_as_each_version_does),
		cmocka_unit_test(merges),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(good_strings_are_good),
		cmocka_unit_test(a_long_prefix_is_cut),
		cmocka_unit_test(readings_are_grouped),
		cmocka_unit_test(more_findings_than_room),
		cmocka_unit_test(the_table_is_sound),
		cmocka_unit_test(later_sources_win),
		cmocka_unit_test(versions_are_read),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
