// SPDX-License-Identifier: Apache-2.0
/*
 * What options do that are written correctly. Sources of the facts: jemalloc's
 * prof.c of each version, and its manual.
 */
#include "jemalloc/conf_lint.h"

#include "base/text.h"

#include <stdio.h>

#define LG_GIB 30
#define LG_SAMPLE_LOW 12
#define LG_SAMPLE_HIGH 30
#define NAME_LEN_MAX 200 /* of a prefix: jemalloc appends pid, number and ".heap" to it */

struct rules {
	const struct conf_state *state;
	bool all;     /* the state stands for all versions */
	bool on;      /* opt.prof will be true */
	bool by_leak; /* prof_leak made it so, which switches automatic dumps off */
	struct conf_lint *out;
};

static bool given(const struct rules *r, enum conf_id id)
{
	return r->state->v[id].source != CONF_FROM_DEFAULT;
}

static int64_t value(const struct rules *r, enum conf_id id)
{
	return r->state->v[id].n;
}

static const char *bytes_of(int64_t lg, char *buf, size_t size)
{
	return text_size(1ull << (lg & 63), buf, size);
}

static void rule_prof(const struct rules *r)
{
	bool others = false;

	if (r->on || r->state->with_prof == TRI_NO)
		return;
	for (enum conf_id id = CONF_PROF_ACTIVE; id <= CONF_PREFIX; id++)
		others |= given(r, id);
	if (given(r, CONF_PROF) && !others) {
		conf_lint_add(r->out, CONF_NOTE, 0,
			      "prof:false: this process cannot be profiled while it runs");
		return;
	}
	if (others)
		conf_lint_fix(conf_lint_add(r->out, CONF_WARNING, 0,
					    "prof:true is missing: without it the other options of "
					    "profiling do nothing"),
			      "add prof:true; profiling cannot be made available later");
	else
		conf_lint_fix(conf_lint_add(r->out, CONF_NOTE, 0,
					    "without prof:true the process cannot be profiled"),
			      "add prof:true,prof_active:false; activate switches sampling on "
			      "later");
}

static void rule_leak(const struct rules *r)
{
	bool reported = value(r, CONF_FINAL);

	if (r->by_leak)
		conf_lint_add(r->out, CONF_NOTE, 0,
			      "prof_leak:true makes opt.prof true by itself, with no dumps but the "
			      "last");
	if (value(r, CONF_LEAK_ERROR) && !reported)
		conf_lint_fix(conf_lint_add(r->out, CONF_WARNING, 0,
					    "prof_leak_error:true without prof_final:true is "
					    "reported by jemalloc and does nothing"),
			      "add prof_final:true");
	else if (r->on && value(r, CONF_LEAK) && !reported)
		conf_lint_fix(conf_lint_add(r->out, CONF_WARNING, 0,
					    "prof_leak:true reports nothing without "
					    "prof_final:true"),
			      "add prof_final:true");
}

static void rule_active(const struct rules *r)
{
	bool stale = r->state->version >= CONF_VERSION(5, 2, 0) &&
		     r->state->version < CONF_VERSION(5, 3, 0);
	char size[16];

	if (!r->on)
		return;
	if (value(r, CONF_PROF_ACTIVE))
		conf_lint_fix(conf_lint_add(r->out, CONF_NOTE, 0,
					    "sampling starts with the program: the stack is walked "
					    "once every %s allocated, in each thread",
					    bytes_of(value(r, CONF_LG_SAMPLE), size, sizeof(size))),
			      "prof_active:false leaves it off until activate");
	else if (stale || r->all)
		conf_lint_add(r->out, CONF_NOTE, 0,
			      "prof_active:false: threads of jemalloc 5.2.0 and 5.2.1 that "
			      "allocated before it becomes true are not sampled until a call is "
			      "made in each");
}

static void rule_thread_init(const struct rules *r)
{
	if (!r->on || value(r, CONF_THREAD_INIT))
		return;
	conf_lint_fix(
		conf_lint_add(r->out, CONF_WARNING, 0,
			      value(r, CONF_PROF_ACTIVE)
				      ? "prof_thread_active_init:false: no thread is sampled until "
					"each of them sets thread.prof.active itself"
				      : "prof_thread_active_init:false: threads that were counted "
					"once while it was false are never sampled"),
		"leave it out; prof_active:false alone keeps sampling off");
}

static void rule_sample(const struct rules *r)
{
	int64_t lg = value(r, CONF_LG_SAMPLE);
	char size[16];

	if (!r->on || !given(r, CONF_LG_SAMPLE))
		return;
	bytes_of(lg, size, sizeof(size));
	if (lg == 0)
		conf_lint_fix(
			conf_lint_add(r->out, CONF_WARNING, 0,
				      "lg_prof_sample:0: the stack is walked for every single "
				      "allocation"),
			"19, the default, is a sample every 512 KiB");
	else if (lg < LG_SAMPLE_LOW)
		conf_lint_fix(conf_lint_add(r->out, CONF_WARNING, 0,
					    "lg_prof_sample:%lld: a stack is walked every %s "
					    "allocated, which slows the program down",
					    (long long)lg, size),
			      "19, the default, is a sample every 512 KiB");
	else if (lg > LG_SAMPLE_HIGH)
		conf_lint_fix(conf_lint_add(r->out, CONF_WARNING, 0,
					    "lg_prof_sample:%lld: one sample every %s allocated; "
					    "profiles will be empty",
					    (long long)lg, size),
			      "19, the default, is a sample every 512 KiB");
}

static void rule_interval(const struct rules *r)
{
	int64_t lg = value(r, CONF_LG_INTERVAL);
	struct conf_finding *f;
	char size[16];

	if (!r->on || r->by_leak || lg < 0)
		return;
	bytes_of(lg, size, sizeof(size));
	if (lg >= LG_GIB) {
		conf_lint_add(r->out, CONF_NOTE, 0,
			      "lg_prof_interval:%lld: a file is written every %s allocated",
			      (long long)lg, size);
		return;
	}
	f = conf_lint_add(r->out, CONF_WARNING, 0,
			  "lg_prof_interval:%lld is a power of two, in bytes: a file is written "
			  "every %s allocated, %llu for each GiB",
			  (long long)lg, size, 1ull << (LG_GIB - lg));
	conf_lint_fix(f, "leave it out and take dumps with jeprof-ctl, or write at least 34 (one "
			 "for 16 GiB)");
}

static void rule_files(const struct rules *r)
{
	if (!r->on)
		return;
	if (value(r, CONF_GDUMP))
		conf_lint_fix(
			conf_lint_add(
				r->out, CONF_WARNING, 0,
				"prof_gdump:true: a file is written whenever the memory "
				"in use reaches a new maximum, and the program may hang in it"),
			"leave it out; record --interval makes dumps while the program runs");
	if (value(r, CONF_FINAL))
		conf_lint_add(r->out, CONF_NOTE, 0,
			      "prof_final%s: a file is written when the program exits",
			      given(r, CONF_FINAL) ? ":true" : " is true before 4.0");
}

static void rule_prefix(const struct rules *r)
{
	int64_t len = value(r, CONF_PREFIX);

	if (!given(r, CONF_PREFIX) || !r->on)
		return;
	if (len == 0)
		conf_lint_add(r->out, CONF_NOTE, 0,
			      "prof_prefix is empty: jemalloc writes no dumps by itself");
	else if (len > NAME_LEN_MAX)
		conf_lint_fix(conf_lint_add(r->out, CONF_WARNING, 0,
					    "prof_prefix has %lld bytes: a file name may have 255, "
					    "a path 4095, what jemalloc appends included",
					    (long long)len),
			      "choose a shorter one");
}

/* Seen with 5.2.1 of Debian 11; 62 does no harm. */
static void rule_tcache(const struct rules *r)
{
	if (value(r, CONF_LG_TCACHE_MAX) == 63)
		conf_lint_fix(
			conf_lint_add(r->out, CONF_WARNING, 0,
				      "lg_tcache_max:63: jemalloc before 5.3.0 may crash when "
				      "the program starts"),
			"from 12 to 23 make sense");
}

static void rule_build(const struct rules *r)
{
	bool any = false;

	for (enum conf_id id = CONF_PROF; id <= CONF_PREFIX; id++)
		any |= given(r, id);
	if (any && r->state->with_prof == TRI_UNKNOWN)
		conf_lint_add(r->out, CONF_NOTE, 0,
			      "prof and its options exist only in a jemalloc built with "
			      "--enable-prof; any other ignores them%s",
			      value(r, CONF_ABORT_CONF) ? " and aborts the program" : "");
}

static void rule_whole(const struct rules *r)
{
	if (r->state->aborts)
		conf_lint_fix(conf_lint_add(r->out, CONF_ERROR, 0,
					    "abort_conf:true: the program is aborted at its start "
					    "for what is wrong here"),
			      "mend it, or leave abort_conf out");
	if (value(r, CONF_CONFIRM))
		conf_lint_add(r->out, CONF_NOTE, 0,
			      "confirm_conf:true: each program prints its options to stderr when "
			      "it starts");
}

void conf_rules(const struct conf_state *state, bool all, struct conf_lint *out)
{
	static void (*const rules[])(const struct rules *r) = {
		rule_prof,  rule_leak,	 rule_active, rule_thread_init, rule_sample, rule_interval,
		rule_files, rule_prefix, rule_build,  rule_tcache,	rule_whole,
	};
	struct conf_state last = *state;
	struct rules r = { .state = &last, .all = all, .out = out };

	conf_state_finish(&last);
	r.on = last.v[CONF_PROF].n && last.with_prof != TRI_NO;
	r.by_leak = r.on && !state->v[CONF_PROF].n;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		rules[i](&r);
}
