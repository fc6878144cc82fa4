// SPDX-License-Identifier: Apache-2.0
/* Scans a distribution's library that exports mallctl: the rules must find the same address. */
#include "jemalloc/options.h"
#include "jemalloc/scan.h"

#include "base/cleanup.h"
#include "jemalloc/jemalloc.h"
#include "process/proc.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/asleep.h"

static struct scan scan;

static int64_t opt_of(const struct jemalloc *je, const struct proc *p, enum jemalloc_opt opt)
{
	struct jemalloc_values values;

	jemalloc_peek_values(je, p, &values);
	return values.opt[opt].known ? values.opt[opt].value : 77;
}

static void check_opts(const struct jemalloc *je, const struct proc *p, const char *conf)
{
	uint64_t none[JEMALLOC_OPTS] = { 0 };

	assert_int_equal(opt_of(je, p, OPT_PROF_ACTIVE), strstr(conf, "prof_active:true") != NULL);
	assert_int_equal(opt_of(je, p, OPT_PROF_THREAD_ACTIVE_INIT), 1);
	assert_int_equal(opt_of(je, p, OPT_LG_PROF_SAMPLE), 17);
	assert_int_equal(opt_of(je, p, OPT_LG_PROF_INTERVAL), -1);
	assert_int_equal(opt_of(je, p, OPT_PROF_GDUMP), 0);
	assert_int_equal(opt_of(je, p, OPT_PROF_FINAL), 0);
	assert_int_equal(opt_of(je, p, OPT_PROF_LEAK), 0);
	assert_int_equal(opt_of(je, p, OPT_PROF_ACCUM), 1);
	/* An option is only accepted if code near mallctl uses its variable, too. */
	options_find(&scan, je->image->end, none);
	for (size_t i = 0; i < JEMALLOC_OPTS; i++)
		assert_int_equal(none[i], 0);
}

/* Found only by the variable: this library has no private symbols. */
static void check_event(const struct jemalloc *je, const struct proc *p)
{
	uint64_t var = options_find_word(&scan, "tcache_gc_incr_bytes"), bytes = 0, found;
	struct jemalloc_event event;
	struct err err;

	jemalloc_find_event(je, p, &event);
	if (jemalloc_version_cmp(je->version, 5, 3, 0) < 0) {
		assert_int_equal(event.te_event_trigger, 0);
		return;
	}
	assert_int_equal(proc_read(p->pid, var, &bytes, sizeof(bytes), &err), 0);
	assert_int_equal(bytes, 65536);
	found = scan_event_trigger(&scan, je->mallctl, var);
	assert_int_not_equal(found, 0);
	assert_int_equal(event.te_event_trigger, found);
	/* Another variable, no variable, and no calls nearby. */
	assert_int_equal(scan_event_trigger(&scan, je->mallctl, je->opt[OPT_LG_PROF_SAMPLE]), 0);
	assert_int_equal(scan_event_trigger(&scan, je->mallctl, 0), 0);
	assert_int_equal(scan_event_trigger(&scan, je->image->end, var), 0);
}

static void check(const struct jemalloc *je, const struct proc *p, const char *conf)
{
	pid_t pid = p->pid;
	unsigned char opt_prof = 77, prof_active = 77;
	unsigned int file_arg = 0;
	char said[200] = "";
	struct err err;

	scan_open(&scan, je->image, pid);
	assert_int_equal(scan.n_trees, 1);
	assert_int_equal(scan_mallctl(&scan, said, sizeof(said)), je->mallctl);
	assert_string_equal(said, "");
	assert_int_equal(scan_stats_print(&scan, je->mallctl), je->malloc_stats_print);
	assert_int_equal(scan_prof_dump(&scan, &file_arg) != 0, je->config_prof == TRI_YES);
	check_event(je, p);
	if (je->config_prof != TRI_YES)
		return;
	assert_int_equal(file_arg, 3);
	assert_int_equal(options_find_unwinder(&scan), UNWINDER_LIBGCC); /* as in Debian */
	assert_int_equal(options_find_prof(&scan), je->opt[OPT_PROF]);
	assert_int_equal(proc_read(pid, je->opt[OPT_PROF], &opt_prof, 1, &err), 0);
	assert_int_equal(proc_read(pid, je->prof_active, &prof_active, 1, &err), 0);
	assert_int_equal(opt_prof, strstr(conf, "prof:true") != NULL);
	check_opts(je, p, conf);
	assert_int_equal(prof_active, strstr(conf, "prof_active:true") != NULL);
}

static bool found_with(const char *conf)
{
	_cleanup_(images_fini) struct images images = { 0 };
	_cleanup_(cleanup_free) struct jemalloc *found = NULL;
	_cleanup_(proc_close) struct proc p = { 0 };
	_cleanup_(maps_fini) struct maps maps = { 0 };
	pid_t pid = sleep_with_jemalloc(conf);
	struct err err;
	size_t n = 0;

	if (!proc_open(&p, pid, &err) && !maps_read(&maps, pid, &err) &&
	    !images_read(&images, pid, &maps, &err))
		(void)!jemalloc_find(&p, &images, &found, &n, &err);
	if (n == 1)
		jemalloc_find_opts(found, pid);
	if (n == 1)
		check(found, &p, conf);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return n == 1;
}

static void test_live(void **state)
{
	(void)state;
#if defined(__x86_64__)
	if (!found_with("prof:true,prof_active:false,lg_prof_sample:17,prof_accum:true"))
		skip();
	assert_true(found_with("prof:true,prof_active:true,lg_prof_sample:17,prof_accum:true"));
	assert_true(found_with("prof:false,prof_active:false,lg_prof_sample:17,prof_accum:true"));
#else
	skip();
#endif
}

static void test_unwinder(void **state)
{
	const enum tristate no = TRI_NO, yes = TRI_YES, unknown = TRI_UNKNOWN;

	(void)state;
	assert_int_equal(jemalloc_unwinder(yes, no, no), UNWINDER_LIBGCC);
	assert_int_equal(jemalloc_unwinder(no, yes, unknown), UNWINDER_LIBUNWIND);
	assert_int_equal(jemalloc_unwinder(no, no, yes), UNWINDER_FRAMES);
	assert_int_equal(jemalloc_unwinder(no, no, no), UNWINDER_COMPILER);
	assert_int_equal(jemalloc_unwinder(unknown, no, no), UNWINDER_UNKNOWN);
	assert_int_equal(jemalloc_unwinder(no, unknown, no), UNWINDER_UNKNOWN);
	assert_int_equal(jemalloc_unwinder(no, no, unknown), UNWINDER_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unwinder),
		cmocka_unit_test(test_live),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
