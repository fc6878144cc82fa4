// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/apart.h"
#include "cli/commands.h"
#include "cli/growth.h"
#include "cli/out.h"
#include "cli/report.h"
#include "io/errand.h"
#include "profile/leaks.h"

#include <math.h>
#include <stdio.h>

#define SHOWN 20
/* With fewer profiles, memory that goes up and down can look as if it grew. */
#define ENOUGH 6
#define FEW_SIZE 128

static const char *const formats[] = { "text", "json", NULL };
#define IN_JSON 1

static const struct option_def options_of_leaks[] = {
	{ "format", 'f', VALUE(CHOICE, leaks_format), "FORMAT",
	  "text, or json: the same as --json (text)", formats },
	{ "limit", 0, VALUE(SIZE, limit_bytes), "SIZE",
	  "when will the profile reach it? (the process's own limit, while it lives)", NULL },
	{ "root", 0, VALUE(FILE, root), "DIR", "look for programs and libraries below DIR", NULL },
	{ "no-cache", 0, VALUE(FLAG, no_cache), NULL, "look up all names again", NULL },
	{ .name = NULL },
};

static const char *const limits[] = {
	[OPS_LIMIT_NONE] = NULL,
	[OPS_LIMIT_GIVEN] = "given",
	[OPS_LIMIT_CGROUP] = "cgroup",
	[OPS_LIMIT_MACHINE] = "machine",
};

static struct json_object *leak_json(const struct ops_leaks *l, const struct profile_leak *leak)
{
	struct json_object *o = json_object_new_object();

	json_set(o, "rate", json_object_new_double(leak->rate));
	json_set(o, "rate_error", json_object_new_double(leak->rate_error));
	json_set(o, "before", json_object_new_double(round(leak->first)));
	json_set(o, "after", json_object_new_double(round(leak->last)));
	json_set(o, "p", json_object_new_double(leak->p));
	json_set(o, "calls", growth_calls_json(&l->series.all, leak->stack));
	return o;
}

static bool is_enough(const struct ops_leaks *l)
{
	return l->series.n >= ENOUGH;
}

static bool say_few(const struct ops_leaks *l, char few[FEW_SIZE])
{
	if (is_enough(l))
		return false;
	snprintf(few, FEW_SIZE,
		 "with %zu profiles, memory that goes up and down may look as if it grew: take %d "
		 "or more",
		 l->series.n, ENOUGH);
	return true;
}

static int print_json(const struct ops_leaks *l, struct err *err)
{
	struct json_object *doc = json_object_new_object(), *leaks = json_object_new_array();
	bool limited = l->limit != OPS_LIMIT_NONE;
	char few[FEW_SIZE];

	json_set_u64(doc, "profiles", l->series.n);
	json_set(doc, "seconds", json_object_new_double(l->found.seconds));
	json_set_u64(doc, "tested", l->found.n_tested);
	json_set(doc, "dispersion", json_object_new_double(l->found.dispersion));
	json_set(doc, "confidence",
		 is_enough(l) ? json_object_new_double(1 - SIGNIFICANCE_LEVEL) : NULL);
	for (size_t i = 0; i < l->found.n_leaks; i++)
		json_object_array_add(leaks, leak_json(l, &l->found.v[i]));
	json_set(doc, "leaks", leaks);
	json_set(doc, "rate", json_object_new_double(l->rate));
	json_set(doc, "rate_error", json_object_new_double(l->rate_error));
	json_set_text(doc, "limit.of", limits[l->limit]);
	json_set(doc, "limit.bytes", limited ? json_object_new_uint64(l->limit_bytes) : NULL);
	json_set(doc, "limit.used", limited ? json_object_new_uint64(l->used_bytes) : NULL);
	json_set(doc, "seconds_left",
		 isfinite(l->seconds_left) ? json_object_new_double(l->seconds_left) : NULL);
	if (say_few(l, few))
		json_set_text(doc, "warning", few);
	return out_json(doc, err);
}

/* "1.9M/min", or by the hour what is little. Returns `buf`; 32 bytes always do. */
static const char *per_time(double rate, char *buf, size_t size)
{
	bool hourly = rate * 60 < 1024;
	char bytes[24];

	snprintf(buf, size, "%s/%s",
		 growth_bytes(rate * (hourly ? 3600 : 60), bytes, sizeof(bytes)) + 1,
		 hourly ? "h" : "min");
	return buf;
}

/* "3d 4h", "5h 10m", "12m 5s" */
static const char *span(double seconds, char *buf, size_t size)
{
	unsigned long long s = seconds < 1e15 ? (unsigned long long)seconds : 1000000000000000ull;

	if (s >= 365ull * 86400)
		snprintf(buf, size, "more than a year");
	else if (s >= 86400)
		snprintf(buf, size, "%llud %lluh", s / 86400, s / 3600 % 24);
	else if (s >= 3600)
		snprintf(buf, size, "%lluh %llum", s / 3600, s / 60 % 60);
	else
		snprintf(buf, size, "%llum %llus", s / 60, s % 60);
	return buf;
}

static int print_leak(const struct ops_leaks *l, const struct profile_leak *leak, struct err *err)
{
	char calls[GROWTH_CALLS_SIZE], rate[32], error[32], first[24], last[24];

	return out_line(err, "%s (error %s), from %s to %s: %s",
			per_time(leak->rate, rate, sizeof(rate)),
			per_time(leak->rate_error, error, sizeof(error)),
			growth_bytes(leak->first, first, sizeof(first)) + 1,
			growth_bytes(leak->last, last, sizeof(last)) + 1,
			growth_calls(&l->series.all, leak->stack, calls, sizeof(calls)));
}

static int print_limit(const struct ops_leaks *l, struct err *err)
{
	static const char *const of[] = {
		[OPS_LIMIT_GIVEN] = "that was given",
		[OPS_LIMIT_CGROUP] = "of its control group",
		[OPS_LIMIT_MACHINE] = "of the machine",
	};
	char rate[32], used[16], limit[16], left[32];

	per_time(l->rate, rate, sizeof(rate));
	if (!isfinite(l->seconds_left))
		return out_line(err, "all together: %s", rate);
	return out_line(err, "all together: %s; with %s of the %s %s in use, they last for %s",
			rate, text_size(l->used_bytes, used, sizeof(used)),
			text_size(l->limit_bytes, limit, sizeof(limit)), of[l->limit],
			span(l->seconds_left, left, sizeof(left)));
}

static void warn(const struct args *args, const struct ops_leaks *l)
{
	char few[FEW_SIZE];

	if (!args->quiet && say_few(l, few))
		errand_tell(few);
}

static int print(const struct args *args, const struct ops_leaks *l, struct err *err)
{
	const struct profile_leaks *found = &l->found;
	char time[32], sure[32] = "";

	warn(args, l);
	span(found->seconds, time, sizeof(time));
	if (is_enough(l))
		snprintf(sure, sizeof(sure), " (%.0f %% sure)", 100 * (1 - SIGNIFICANCE_LEVEL));
	if (!found->n_leaks)
		return out_line(
			err,
			"no leak: none of %zu stack%s grows steadily in %zu profiles over %s%s",
			found->n_tested, found->n_tested == 1 ? "" : "s", l->series.n, time, sure);
	if (out_line(err, "%zu of %zu stack%s %s steadily in %zu profiles over %s%s:",
		     found->n_leaks, found->n_tested, found->n_tested == 1 ? "" : "s",
		     found->n_leaks == 1 ? "grows" : "grow", l->series.n, time, sure))
		return -1;
	for (size_t i = 0; i < found->n_leaks && i < SHOWN; i++) {
		if (print_leak(l, &found->v[i], err))
			return -1;
	}
	return print_limit(l, err);
}

struct job {
	const struct args *args;
	struct ops_symbolize_options symbols;
};

static int run_apart(const void *ctx, struct err *err)
{
	_cleanup_(ops_leaks_fini) struct ops_leaks leaks = { 0 };
	struct job j = *(const struct job *)ctx;
	const struct ops_leaks_request request = {
		.files = j.args->words,
		.n = j.args->n_words,
		.limit_bytes = j.args->limit_bytes,
	};

	if (j.symbols.tell)
		j.symbols.tell = errand_tell;
	if (ops_leaks(&request, &j.symbols, &leaks, err))
		return -1;
	return j.args->json || j.args->leaks_format == IN_JSON ? print_json(&leaks, err)
							       : print(j.args, &leaks, err);
}

static int run(const struct args *args, struct err *err)
{
	struct job job = { .args = args };
	const struct apart apart = {
		.inputs = args->words,
		.n_inputs = args->n_words,
		.symbols = &job.symbols,
		.run = run_apart,
		.ctx = &job,
	};

	return report_symbols(args, &job.symbols, err) || apart_run(args, &apart, err) ? -1 : 0;
}

const struct command cmd_leaks = {
	.name = "leaks",
	.words = "FILE FILE FILE...",
	.help = "show what keeps growing over several heap profiles",
	.options = options_of_leaks,
	.min_words = PROFILE_LEAKS_MIN,
	.max_words = WORDS_MAX,
	.run = run,
};
