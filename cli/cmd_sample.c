// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "ops/sample/sample.h"
#include "sampler/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DURATION_MS 30000
#define SHOW_MS 250 /* on a terminal */

static const struct option_def options_of_sample[] = {
	{ "duration", 'd', VALUE(DURATION, duration_ms), "D", "how long to sample (30s)", NULL },
	{ "sample-rate", 0, VALUE(SIZE, sample_rate), "SIZE",
	  "take a sample every SIZE bytes on average, 4K to 1T (512K)", NULL },
	{ "min-age", 0, VALUE(DURATION, min_age_ms), "D",
	  "of what is not freed, count only what was allocated before the last D", NULL },
	{ "max-overhead", 0, VALUE(INT, max_overhead), "N",
	  "refuse or stop if it takes more than N % of a CPU (5)", NULL },
	{ "format", 'f', VALUE(STRING, report_format), "FORMAT",
	  "text, tree, jeprof, or a format of convert (text)", report_formats },
	{ "output", 'o', VALUE(FILE, output), "FILE",
	  "write to FILE (stdout), in the format of its suffix", NULL },
	{ "save", 0, VALUE(FILE, save), "FILE", "also keep the profile in FILE", NULL },
	{ "force", 0, VALUE(FLAG, force), NULL, "replace an existing file", NULL },
	OPTIONS_OF_COUNTS,
	OPTIONS_OF_TABLES,
	{ "no-cache", 0, VALUE(FLAG, no_cache), NULL, "look up all names again", NULL },
	{ .name = NULL },
};

/* ": 230000 allocations/s, about 1.2 % of a CPU" */
#define COST_SIZE 80
static const char *cost_text(const struct ops_sample_progress *p, char buf[COST_SIZE])
{
	if (p->rate)
		snprintf(buf, COST_SIZE, ": %" PRIu64 " allocations/s, about %u.%u %% of a CPU",
			 p->rate, p->per_mille / 10, p->per_mille % 10);
	else
		*buf = '\0';
	return buf;
}

static void say_it_begins(void *ctx, const struct ops_sample_progress *p)
{
	char who[OUT_WHO_SIZE], cost[COST_SIZE];

	(void)ctx;
	fprintf(stderr, "sampling %s for %.1f s%s\n", out_who(p->cost, who, sizeof(who)),
		(double)p->duration_ms / 1000, cost_text(p, cost));
}

static void show_progress(void *ctx, const struct ops_sample_progress *p)
{
	char who[OUT_WHO_SIZE], bar[PROGRESS_BAR_SIZE], line[PROGRESS_LINE_SIZE];
	uint64_t left = p->duration_ms > p->elapsed_ms ? p->duration_ms - p->elapsed_ms : 0;
	int len;

	(void)ctx;
	out_who(p->cost, who, sizeof(who));
	len = snprintf(line, sizeof(line),
		       "sampling %.30s [%s] %" PRIu64 "s left, %" PRIu64 " samples", who,
		       progress_bar(p->elapsed_ms, p->duration_ms, bar), (left + 999) / 1000,
		       p->samples);
	if (len >= progress_columns()) /* it would wrap */
		snprintf(line, sizeof(line), "%.30s %" PRIu64 "s left, %" PRIu64 " samples", who,
			 (left + 999) / 1000, p->samples);
	progress_line(line);
}

/* Print what was sampled, and what it says about possible leaks. */
static void say_how_it_went(const struct args *args, const struct ops_sample *s)
{
	uint64_t permille = s->duration_ms ? s->overhead_us / s->duration_ms : 0;
	char who[OUT_WHO_SIZE], all[16], live[16], old[16];

	if (args->quiet || args->json)
		return;
	fprintf(stderr,
		"sampled %s for %.1f s%s: %s allocated, %s of it not freed, %s of that from the "
		"first half; %" PRIu64 " samples, about %" PRIu64 ".%" PRIu64 " %% of a CPU\n",
		out_who(&s->cost, who, sizeof(who)), (double)s->duration_ms / 1000,
		s->early   ? ", ended by a signal"
		: s->ended ? ", until it ended"
			   : "",
		text_size(s->allocated_bytes, all, sizeof(all)),
		text_size(s->live_bytes, live, sizeof(live)),
		text_size(s->old_bytes, old, sizeof(old)), s->samples, permille / 10,
		permille % 10);
}

/* Warn about incomplete figures, or about something else the user should know. */
static void find_warning(const struct ops_sample *s, struct err *warning)
{
	if (s->left.code)
		*warning = s->left;
	else if (s->lost)
		err_raise(warning, ERROR_OBJECTS_LOST, .number = (int64_t)s->lost,
			  .count = (int64_t)(s->lost + s->samples));
	else if (s->cut)
		err_raise(warning, ERROR_STACKS_CUT, .number = (int64_t)s->cut,
			  .count = (int64_t)s->samples);
	else if (s->hidden.ids[0])
		*warning = s->hidden;
	else if (s->opt_prof)
		err_raise(warning, ERROR_RECORD_IS_CHEAPER, .pid = s->cost.pid,
			  .comm = s->cost.comm);
}

static uint64_t duration_ms(const struct args *args)
{
	return args->duration_ms ? args->duration_ms : DURATION_MS;
}

/* `take` of report_taken(). */
static int take_sample(const struct args *args, int fd, char **name, struct err *warning,
		       struct err *err)
{
	_cleanup_(signals_close) struct signals stop = SIGNALS_INIT;
	const bool said = !args->quiet && !args->json, shown = said && isatty(STDERR_FILENO);
	struct ops_sample_request request = {
		.duration_ms = duration_ms(args),
		.sample_bytes = args->sample_rate,
		.min_age_ms = args->min_age_ms,
		.max_overhead = args_max_overhead(args),
		.fd = fd,
		.file = args->save,
		.force = args->force,
		.began = said ? say_it_begins : NULL,
		.progress = shown ? show_progress : NULL,
		.progress_ms = SHOW_MS,
	};
	_cleanup_(ops_sample_fini) struct ops_sample got = { 0 };
	struct ops_options options;
	pid_t pid;
	int failed;

	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) || signals_open(&stop, err))
		return -1;
	options.stop_fd = stop.fd;
	failed = ops_sample(pid, &request, &options, &got, err);
	if (shown)
		progress_clear();
	if (failed)
		return -1;
	say_how_it_went(args, &got);
	find_warning(&got, warning);
	return asprintf(name, "process %d", pid) < 0 ? err_no_memory(err) : 0;
}

static int check(const struct args *args, struct err *err)
{
	uint64_t rate = args->sample_rate;

	if (rate && (rate < SAMPLER_BYTES_MIN || rate > SAMPLER_BYTES_MAX))
		return err_raise(err, ERROR_SAMPLE_RATE_RANGE);
	if (args->min_age_ms >= duration_ms(args))
		return err_raise(err, ERROR_MIN_AGE_TOO_LONG);
	return args_check_overhead(args, err);
}

static int run(const struct args *args, struct err *err)
{
	return check(args, err) || report_taken(args, take_sample, report_format_asked(args), err)
		       ? -1
		       : 0;
}

const struct command cmd_sample = {
	.name = "sample",
	.words = "PID",
	.help = "profile allocations from now on, in a process that was not started for profiling",
	.options = options_of_sample,
	.needs_pid = true,
	.run = run,
};
