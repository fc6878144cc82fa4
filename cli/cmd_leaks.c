// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/apart.h"
#include "cli/commands.h"
#include "cli/growth.h"
#include "cli/out.h"
#include "cli/report.h"
#include "profile/leaks.h"
#include "profile/significance.h"

#include <math.h>
#include <stdio.h>

#define SHOWN 20
#define SUSPECTS 5

static const char *const formats[] = { "text", "json", NULL };
#define IN_JSON 1

static const struct option_def options_of_leaks[] = {
	{ "format", 'f', VALUE(CHOICE, leaks_format), "FORMAT",
	  "text, or json: the same as --json (text)", formats },
	{ "limit", 0, VALUE(SIZE, limit_bytes), "SIZE",
	  "when will the profile reach it? (the process's own limit, while it lives)", NULL },
	{ "root", 0, VALUE(FILE, root), "DIR", "look for programs and libraries below DIR", NULL },
	{ "trust-images", 0, VALUE(FLAG, trust_images), NULL,
	  "name functions by files that nothing tells to be those that were mapped", NULL },
	{ "no-cache", 0, VALUE(FLAG, no_cache), NULL, "look up all names again", NULL },
	{ .name = NULL },
};

/* What rates are given by: a minute, or an hour where that is little, or a profile. */
struct per {
	double seconds;
	const char *name;
};

static struct per per_of(const struct ops_leaks *l, double rate)
{
	if (l->times == OPS_TIMES_ORDER)
		return (struct per){ 1, "profile" };
	return rate * 60 < 1024 ? (struct per){ 3600, "h" } : (struct per){ 60, "min" };
}

/* "1.9M", "-3.0K". Returns `buf`; 24 bytes always do. */
static const char *amount(double bytes, char *buf, size_t size)
{
	growth_bytes(bytes, buf, size);
	return *buf == '-' ? buf : buf + 1;
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

/* Where it grows; `buf` has room for PLACE_SIZE. */
#define PLACE_SIZE (GROWTH_CALLS_SIZE + 64)
static const char *place(const struct ops_leaks *l, const struct profile_leak *leak, char *buf)
{
	const struct profile *p = &l->series.all;
	const struct profile_thread *t =
		leak->thread != PROFILE_NONE ? &p->threads[leak->thread] : NULL;
	char call[GROWTH_CALL_SIZE] = "", name[64], stacks[32];

	snprintf(stacks, sizeof(stacks), "%zu stack%s", leak->n_stacks,
		 leak->n_stacks == 1 ? "" : "s");
	if (leak->line.function != PROFILE_NONE)
		growth_call(p->symbols, &leak->line, call, sizeof(call));
	switch (leak->kind) {
	case PROFILE_LEAK_STACK:
		return growth_calls(p, leak->stack, buf, PLACE_SIZE);
	case PROFILE_LEAK_LINE:
	case PROFILE_LEAK_FUNCTION:
		snprintf(buf, PLACE_SIZE, "%s, through %s", call, stacks);
		break;
	case PROFILE_LEAK_CALLER:
		snprintf(buf, PLACE_SIZE, "what %s called, through %s", call, stacks);
		break;
	case PROFILE_LEAK_THREAD:
		snprintf(buf, PLACE_SIZE, "thread %llu%s%s, through %s", (unsigned long long)t->id,
			 *t->name ? " " : "", output_safe(t->name, name, sizeof(name)), stacks);
		break;
	case PROFILE_LEAK_TOTAL:
		snprintf(buf, PLACE_SIZE, "the process, through %s", stacks);
		break;
	}
	return buf;
}

static int print_leak(const struct ops_leaks *l, const struct profile_leak *leak, struct err *err)
{
	char where[PLACE_SIZE], rate[24], low[24], high[24], first[24], last[24];
	struct per per = per_of(l, leak->rate);

	return out_line(err, "%s/%s (%s to %s), from %s to %s, p %.1g: %s%s",
			amount(leak->rate * per.seconds, rate, sizeof(rate)), per.name,
			amount(leak->rate_low * per.seconds, low, sizeof(low)),
			amount(leak->rate_high * per.seconds, high, sizeof(high)),
			amount(leak->first, first, sizeof(first)),
			amount(leak->last, last, sizeof(last)), leak->p, place(l, leak, where),
			leak->rest ? ", besides the others shown" : "");
}

static int print_limit(const struct ops_leaks *l, struct err *err)
{
	static const char *const of[] = {
		[OPS_LIMIT_GIVEN] = "that was given",
		[OPS_LIMIT_CGROUP] = "of its control group",
		[OPS_LIMIT_MACHINE] = "of the machine",
	};
	char buf[24], used[16], limit[16], left[32];
	struct per per = per_of(l, l->rate);
	const char *rate = amount(l->rate * per.seconds, buf, sizeof(buf));

	if (!isfinite(l->seconds_left))
		return out_line(err, "total %s/%s", rate, per.name);
	return out_line(err, "total %s/%s; %s of the %s %s used: the limit is reached in %s", rate,
			per.name, text_size(l->used_bytes, used, sizeof(used)),
			text_size(l->limit_bytes, limit, sizeof(limit)), of[l->limit],
			span(l->seconds_left, left, sizeof(left)));
}

static void warn(const struct args *args, const struct ops_leaks *l)
{
	if (!args->quiet && l->warning.ids[0])
		out_warn(NULL, &l->warning);
}

/* What is known of the times, unless the profiles say them. */
static int print_times(const struct ops_leaks *l, struct err *err)
{
	static const char *const words[] = {
		[OPS_TIMES_PROFILES] = NULL,
		[OPS_TIMES_NAMES] = "the times are those in the names of the files",
		[OPS_TIMES_FILES] = "the times are those of the last change of the files",
		[OPS_TIMES_ORDER] = "the times are lost: the order is that of the files' names",
	};

	return words[l->times] ? out_line(err, "%s", words[l->times]) : 0;
}

static int print_suspects(const struct ops_leaks *l, struct err *err)
{
	size_t n = l->found.n_suspects < SUSPECTS ? l->found.n_suspects : SUSPECTS;

	if (n && out_line(err,
			  "the fastest that grow; for one to be certain beside so many, p is to be "
			  "%.1g or less:",
			  l->found.p_certain))
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (print_leak(l, &l->found.suspects[i], err))
			return -1;
	}
	return 0;
}

static int print(const struct args *args, const struct ops_leaks *l, struct err *err)
{
	const struct profile_leaks *found = &l->found;
	char time[32], in[80], sure[32] = "";

	warn(args, l);
	span(found->seconds, time, sizeof(time));
	snprintf(in, sizeof(in), "in %zu profiles%s%s", l->series.n,
		 l->times == OPS_TIMES_ORDER ? "" : " over ",
		 l->times == OPS_TIMES_ORDER ? "" : time);
	if (!l->warning.ids[0])
		snprintf(sure, sizeof(sure), " (%.0f %% sure)", 100 * (1 - SIGNIFICANCE_LEVEL));
	if (print_times(l, err))
		return -1;
	if (!found->n_leaks)
		return out_line(err,
				"nothing is certain to leak, of %zu stack%s and what they have in "
				"common, %s",
				found->n_stacks, found->n_stacks == 1 ? "" : "s", in) ||
				       print_suspects(l, err)
			       ? -1
			       : 0;
	if (out_line(err, "%zu leak%s, of %zu stack%s and what they have in common, %s%s:",
		     found->n_leaks, found->n_leaks == 1 ? "" : "s", found->n_stacks,
		     found->n_stacks == 1 ? "" : "s", in, sure))
		return -1;
	for (size_t i = 0; i < found->n_leaks && i < SHOWN; i++) {
		if (print_leak(l, &found->leaks[i], err))
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
	bool json = j.args->json || j.args->leaks_format == IN_JSON;
	_cleanup_(json_close) struct json_object *warnings =
		report_warnings(j.args, json, &j.symbols);
	const struct ops_leaks_request request = {
		.files = j.args->words,
		.n = j.args->n_words,
		.limit_bytes = j.args->limit_bytes,
	};

	if (ops_leaks(&request, &j.symbols, &leaks, err))
		return -1;
	return json ? out_json(api_with_warnings(api_leaks(&leaks), take_ptr(warnings)), err)
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
