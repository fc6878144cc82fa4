// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
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
		return out_line(err, "total %s", rate);
	return out_line(err, "total %s; %s of the %s %s used: the limit is reached in %s", rate,
			text_size(l->used_bytes, used, sizeof(used)),
			text_size(l->limit_bytes, limit, sizeof(limit)), of[l->limit],
			span(l->seconds_left, left, sizeof(left)));
}

static void warn(const struct args *args, const struct ops_leaks *l)
{
	char text[ERR_TEXT_SIZE];

	if (!args->quiet && l->warning.ids[0])
		errand_tell(NULL, api_warning_text(&l->warning, text, sizeof(text)));
}

static int print(const struct args *args, const struct ops_leaks *l, struct err *err)
{
	const struct profile_leaks *found = &l->found;
	char time[32], sure[32] = "";

	warn(args, l);
	span(found->seconds, time, sizeof(time));
	if (!l->warning.ids[0])
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
	return j.args->json || j.args->leaks_format == IN_JSON ? out_json(api_leaks(&leaks), err)
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
