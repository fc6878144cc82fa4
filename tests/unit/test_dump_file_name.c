// SPDX-License-Identifier: Apache-2.0
/* Parsing the file names of profiles: of jemalloc, of dumps and recordings, and of guards. */
#include "ops/dump_file_name.h"

#include "base/cleanup.h"
#include "ops/dump.h"
#include "ops/guard/rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define T "20261126T101112Z"
#define SECONDS 1795687872

static void test_names(void **state)
{
	static const struct {
		const char *path, *prefix, *stem; /* stem: up to the pid, or "" */
		int64_t seconds;
		int number;
	} rows[] = {
		/* written by jemalloc */
		{ "jeprof.42.0.f.heap", "jeprof.42", "jeprof.42", 0, 0 },
		{ "/a.b/jeprof.42.17.i3.heap", "jeprof.42", "/a.b/jeprof.42", 0, 17 },
		{ "jeprof.42.0.m.heap", "jeprof.42.0.m", "", 0, DUMP_LAST },
		{ "jeprof.f.heap", "jeprof.f", "", 0, DUMP_LAST },
		/* of dumps and recordings */
		{ "a.42." T ".heap", "a.42", "a.42", SECONDS, DUMP_LAST },
		{ "a.42." T ".heap.gz", "a.42", "a.42", SECONDS, DUMP_LAST },
		{ "a.42." T ".base.heap", "a.42", "a.42", SECONDS, DUMP_FIRST },
		{ "a.42." T ".7.heap", "a.42", "a.42", SECONDS, 7 },
		{ "mine." T ".7.heap", "mine", "", SECONDS, 7 },
		{ "mine.7.heap", "mine", "", 0, 7 },
		{ "mine.base.heap", "mine", "", 0, DUMP_FIRST },
		{ "mine.heap", "mine", "", 0, DUMP_LAST },
		/* of guards, in the same series */
		{ "a.42." T ".guard-rss.heap", "a.42", "a.42", SECONDS, DUMP_LAST },
		{ "/x/a.42." T ".guard-rss.heap", "a.42", "/x/a.42", SECONDS, DUMP_LAST },
		{ "a.42." T ".guard-cgroup.heap.gz", "a.42", "a.42", SECONDS, DUMP_LAST },
		{ "a.42." T ".guard-every.base.heap", "a.42", "a.42", SECONDS, DUMP_FIRST },
		{ "a.42." T ".guard-psi.base.heap.gz", "a.42", "a.42", SECONDS, DUMP_FIRST },
		{ "a.42." T ".guard-high.3.heap", "a.42", "a.42", SECONDS, 3 },
		{ "a.b.42." T ".guard-rss.heap", "a.b.42", "a.b.42", SECONDS, DUMP_LAST },
		{ "mine." T ".guard-rss.heap", "mine", "", SECONDS, DUMP_LAST },
		/* almost valid */
		{ "a.42.guard-rss.heap", "a.42.guard-rss", "", 0, DUMP_LAST },
		{ "guard-rss.heap", "guard-rss", "", 0, DUMP_LAST },
		{ "a.42." T "guard-rss.heap", "a.42." T "guard-rss", "", 0, DUMP_LAST },
		{ "a.42.guard-rss." T ".heap", "a.42.guard-rss", "", SECONDS, DUMP_LAST },
		{ "a.42." T ".guard-rss.guard-psi.heap", "a.42." T ".guard-rss.guard-psi", "", 0,
		  DUMP_LAST },
		{ "a.42.20261126T101112.guard-rss.heap", "a.42.20261126T101112.guard-rss", "", 0,
		  DUMP_LAST },
		{ "a.42.20261326T101112Z.heap", "a.42.20261326T101112Z", "", 0, DUMP_LAST },
		{ "a.4242424242." T ".guard-rss.heap", "a.4242424242", "", SECONDS, DUMP_LAST },
		{ "", "", "", 0, DUMP_LAST },
		{ "/", "", "", 0, DUMP_LAST },
		{ ".heap", "", "", 0, DUMP_LAST },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct dump_file_name n;

		assert_true(dump_file_name_parse(rows[i].path, &n));
		if (strcmp(n.prefix, rows[i].prefix) != 0 || n.seconds != rows[i].seconds ||
		    n.number != rows[i].number || n.stem_len != strlen(rows[i].stem))
			fail_msg("%s: prefix %s, stem %zu, %ld, number %d", rows[i].path, n.prefix,
				 n.stem_len, (long)n.seconds, n.number);
		assert_memory_equal(rows[i].path, rows[i].stem, n.stem_len);
	}
}

static void test_long(void **state)
{
	char path[NAME_MAX + 16] = "folder/";
	struct dump_file_name n;

	(void)state;
	memset(path + 7, 'a', NAME_MAX);
	assert_true(dump_file_name_parse(path, &n));
	path[7 + NAME_MAX] = 'a';
	assert_false(dump_file_name_parse(path, &n));
}

/* Every name chosen by a guard can be parsed, whatever the name of the process. */
static void test_of_guards(void **state)
{
	static const char *const words[] = { "rss",   "cgroup", "growth", "psi",
					     "every", "high",	"max",	  "oom" };
	static const char *const comms[] = { "redis-server", "a.b/c d\n", "..", "1.2", "" };
	static const char *const stems[] = { "redis-server", "a_b_c_d_", "__", "1_2", "process" };
	time_t before = time(NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		for (size_t j = 0; j < sizeof(comms) / sizeof(*comms); j++) {
			_cleanup_(cleanup_free) char *path =
				dump_path_of_guard(42, comms[j], "/var/a.7.f.heap/", words[i]);
			struct dump_file_name n;
			char stem[64];

			assert_true(guard_is_word(words[i]));
			assert_true(dump_file_name_parse(path, &n));
			snprintf(stem, sizeof(stem), "%s.42", stems[j]);
			assert_string_equal(n.prefix, stem);
			snprintf(stem, sizeof(stem), "/var/a.7.f.heap/%s.42", stems[j]);
			assert_int_equal(n.stem_len, strlen(stem));
			assert_memory_equal(path, stem, n.stem_len);
			assert_in_range(n.seconds, before, time(NULL));
			assert_int_equal(n.number, DUMP_LAST);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_of_guards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
