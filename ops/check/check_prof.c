// SPDX-License-Identifier: Apache-2.0
/* The effect of sampling in this process, and known problems of this version of jemalloc. */
#include "ops/check/parts.h"

#include "base/text.h"
#include "ops/target/sampling.h"

#include <stdio.h>
#include <string.h>

#define SAMPLES_FEW 100
#define SAMPLES_MANY 1000000
#define SAMPLES_GOOD 4000
#define LG_MIN 9

/*
 * A thread takes the value over when jemalloc first tracks it: at its first sample, or when it
 * dumps. After that, only calls in the thread itself change it.
 */
static void check_thread_init(const struct check_values *v, struct ops_check *c)
{
	if (!v->thread_init.known)
		return;
	if (v->thread_init.flag) {
		check_passed(c, "true: each thread is sampled while prof.active is");
	} else if (v->active.known && !v->active.flag) {
		check_passed(c,
			     "false; activate sets it to true first. Threads that jemalloc tracked "
			     "before keep false");
		err_advise(&c->err, FIX_START_WITHOUT_INIT_FALSE);
	} else {
		check_passed(c,
			     "false while prof.active is true: existing threads are not sampled, "
			     "unless they enabled it");
		err_advise(&c->err, FIX_ACTIVATE_ALL);
	}
}

/* The rate, as a power of two, that gives this much memory a good number of samples. */
static int good_lg(uint64_t bytes)
{
	int lg = LG_MIN;

	while (lg < 40 && bytes >> (lg + 1) >= SAMPLES_GOOD)
		lg++;
	return lg;
}

/* Resident memory is an upper bound for allocated memory, and costs nothing to read. */
static void check_sample(const struct session *s, const struct check_values *v, struct ops_check *c)
{
	uint64_t rss = s->proc.status.rss_bytes, expected;
	char rate[16], size[16], what[128], text[ERR_TEXT_SIZE];
	struct err err = ERR_INIT;

	if (!v->lg_sample.known || v->lg_sample.size > 63)
		return;
	expected = rss >> v->lg_sample.size;
	snprintf(what, sizeof(what),
		 "%llu, a sample every %s: at most about %llu for the %s resident",
		 (unsigned long long)v->lg_sample.size,
		 text_size(1ull << v->lg_sample.size, rate, sizeof(rate)),
		 (unsigned long long)expected, text_size(rss, size, sizeof(size)));
	check_passed(c, "%s", what);
	if (expected < SAMPLES_FEW && v->lg_sample.size > LG_MIN) {
		check_passed(c, "%s: too few to be meaningful", what);
		err_advise(&c->err, FIX_SAMPLE_MORE, .number = good_lg(rss));
	} else if (expected > SAMPLES_MANY) {
		check_passed(c, "%s: dumps are large and slow", what);
		err_advise(&c->err, FIX_SAMPLE_LESS, .number = good_lg(rss));
	}
	if (v->active.known && v->active.flag)
		return;
	if (sampling_has_room(s, v->lg_sample.size, &err)) {
		check_failed(c, &err);
		return;
	}
	sampling_warn_hidden(s, &err);
	if (err.ids[0]) {
		check_passed(c, "%s; %s", what, err_text(&err, text, sizeof(text)));
		c->err = err;
	}
}

/* If so, activate cannot find out what is still unknown either, and refuses. */
static bool was_asked(const struct session *s, const struct check_values *v)
{
	return s->cost.stops && v->opt_prof.known;
}

static void check_unwinder(const struct session *s, const struct check_values *v,
			   struct ops_check *c)
{
	static const char *const texts[] = {
		[UNWINDER_LIBGCC] = "libgcc; no code known to break it is loaded",
		[UNWINDER_LIBUNWIND] = "libunwind",
		[UNWINDER_FRAMES] =
			"frame pointers: code without them gets truncated or wrong stacks",
	};
	enum tristate frameptr = check_tristate(&v->frameptr);
	enum jemalloc_unwinder unwinder;
	struct err err = ERR_INIT;

	if (s->je->config_prof == TRI_NO || (v->config_prof.known && !v->config_prof.flag))
		return;
	/*
	 * As the calls reported, else as found in the code. A name that this jemalloc lacks is
	 * false.
	 */
	if (v->libgcc.known && !v->frameptr.known)
		frameptr = TRI_NO;
	unwinder = jemalloc_unwinder(check_tristate(&v->libgcc), check_tristate(&v->libunwind),
				     frameptr);
	if (!unwinder)
		unwinder = s->je->unwinder;
	if (unwinder == UNWINDER_UNKNOWN && !was_asked(s, v))
		check_unread(c, "the unwinder of jemalloc could not be read");
	else if (sampling_may_unwind(s, unwinder, &err))
		check_failed(c, &err);
	else
		check_passed(c, "%s", texts[unwinder]);
}

/* Problems that a user notices, from `since` to before `until`. */
static const struct hazard {
	int since[3], until[3];
	const char *text;
} hazards[] = {
	{ { 0, 0, 0 },
	  { 4, 0, 0 },
	  "no prof.reset, the rate cannot be changed; a thread that was "
	  "never sampled cannot dump" },
	{ { 0, 0, 0 },
	  { 5, 3, 0 },
	  "no prof.prefix: the target's own dumps go where "
	  "prof_prefix said at its start" },
	{ { 4, 0, 0 },
	  { 5, 1, 0 },
	  "dumps by lg_prof_interval continue while prof.active is false" },
	{ { 5, 2, 0 }, { 5, 3, 0 }, "threads lose sampling when it is switched off and on again" },
	{ { 5, 3, 0 }, { 5, 3, 1 }, "reading prof.prefix crashes it; jeprof-ctl never reads it" },
	{ { 5, 3, 0 }, { 99, 0, 0 }, "the program's own statistics block while a dump is written" },
};

static void check_version(const struct session *s, struct ops_check *c)
{
	char text[OPS_TEXT_SIZE / 2] = "", safe[OPS_TEXT_SIZE / 4];
	size_t at = 0;

	if (!s->version[0]) {
		check_unknown(c, "the version of jemalloc is not known");
		return;
	}
	for (size_t i = 0; i < sizeof(hazards) / sizeof(hazards[0]); i++) {
		const struct hazard *h = &hazards[i];

		if (session_older(s, h->since[0], h->since[1], h->since[2]) ||
		    !session_older(s, h->until[0], h->until[1], h->until[2]))
			continue;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", at ? "; " : ": ",
				       h->text);
		if (at >= sizeof(text))
			break;
	}
	output_safe(s->version, safe, sizeof(safe));
	check_passed(c, "%.*s%s", (int)strcspn(safe, "-"), safe, text);
}

void check_prof(const struct session *s, const struct check_values *values, struct ops_check *rows)
{
	struct ops_check *gdump = &rows[CHECK_GDUMP];
	struct err err = ERR_INIT;

	if (check_tristate(&values->opt_prof) != TRI_NO) { /* otherwise they have no meaning */
		if (values->active.known)
			check_passed(&rows[CHECK_ACTIVE],
				     values->active.flag
					     ? "true: sampling is on"
					     : "false: nothing is sampled until activate");
		check_thread_init(values, &rows[CHECK_INIT]);
		check_sample(s, values, &rows[CHECK_SAMPLE]);
	}
	check_unwinder(s, values, &rows[CHECK_UNWINDER]);
	if (!values->gdump.known && !was_asked(s, values))
		check_unread(gdump, "prof_gdump could not be read");
	else if (values->gdump.known && !values->gdump.flag)
		check_passed(gdump, "prof_gdump is off: it could deadlock the process");
	else if (sampling_may_gdump(s, &err))
		check_failed(gdump, &err);
	check_version(s, &rows[CHECK_VERSION]);
}
