// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "ops/sites/sites.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DURATION_MS 10000
#define SHOW_MS 250 /* on a terminal */

static const struct option_def options_of_sites[] = {
	{ "duration", 'd', VALUE(DURATION, duration_ms), "D", "how long to sample (10s)", NULL },
	{ "sample-rate", 0, VALUE(SIZE, sample_rate), "SIZE",
	  "take a sample every SIZE bytes on average, 64K to 2G (512K)", NULL },
	{ "max-overhead", 0, VALUE(INT, max_overhead), "N",
	  "stop when the probe takes more than N % of the process's time (5)", NULL },
	{ "format", 'f', VALUE(STRING, report_format), "FORMAT",
	  "text, tree, jeprof, or a format of convert (text)", report_formats },
	{ "output", 'o', VALUE(FILE, output), "FILE",
	  "write to FILE (stdout), in the format of its suffix", NULL },
	{ "save", 0, VALUE(FILE, save), "FILE", "also keep the profile in FILE", NULL },
	{ "force", 0, VALUE(FLAG, force), NULL, "replace an existing file", NULL },
	OPTIONS_OF_TABLES,
	{ "no-cache", 0, VALUE(FLAG, no_cache), NULL, "look up all names again", NULL },
	{ .name = NULL },
};

/* "1.2G (120M/s)" */
#define RATE_SIZE 40
static const char *rate_text(uint64_t bytes, uint64_t ms, char buf[RATE_SIZE])
{
	char all[16], rate[16];

	snprintf(buf, RATE_SIZE, "%s (%s/s)", text_size(bytes, all, sizeof(all)),
		 text_size(ms ? bytes * 1000 / ms : 0, rate, sizeof(rate)));
	return buf;
}

static void say_it_begins(void *ctx, const struct ops_cost *cost)
{
	const struct ops_sites_request *request = ctx;
	char who[OUT_WHO_SIZE];

	fprintf(stderr, "sampling %s for %.1f s\n", out_who(cost, who, sizeof(who)),
		(double)request->duration_ms / 1000);
}

static void show_progress(void *ctx, const struct ops_sites_progress *p)
{
	char who[OUT_WHO_SIZE], bar[PROGRESS_BAR_SIZE], rate[RATE_SIZE], line[PROGRESS_LINE_SIZE];
	uint64_t left = p->duration_ms > p->elapsed_ms ? p->duration_ms - p->elapsed_ms : 0;
	int len;

	(void)ctx;
	out_who(p->cost, who, sizeof(who));
	rate_text(p->allocated_bytes, p->elapsed_ms, rate);
	len = snprintf(line, sizeof(line), "sampling %.30s [%s] %" PRIu64 "s left, %s allocated",
		       who, progress_bar(p->elapsed_ms, p->duration_ms, bar), (left + 999) / 1000,
		       rate);
	if (len >= progress_columns()) /* it would wrap */
		snprintf(line, sizeof(line), "%.30s %" PRIu64 "s left, %s allocated", who,
			 (left + 999) / 1000, rate);
	progress_line(line);
}

static void say_how_it_went(const struct args *args, const struct ops_sites *s)
{
	uint64_t permille = s->duration_ms ? s->overhead_us / s->duration_ms : 0;
	char who[OUT_WHO_SIZE], rate[RATE_SIZE];

	if (args->quiet || args->json)
		return;
	fprintf(stderr,
		"sampled %s for %.1f s%s: %s allocated, %" PRIu64 " samples, "
		"about %" PRIu64 ".%" PRIu64 " %% of a CPU\n",
		out_who(&s->cost, who, sizeof(who)), (double)s->duration_ms / 1000,
		s->early   ? ", ended by a signal"
		: s->ended ? ", until it ended"
			   : "",
		rate_text(s->allocated_bytes, s->duration_ms, rate), s->samples, permille / 10,
		permille % 10);
}

/* Warn about incomplete figures. */
static void find_warning(const struct ops_sites *s, struct err *warning)
{
	if (s->lost)
		err_raise(warning, ERROR_SAMPLES_LOST, .number = (int64_t)s->lost,
			  .count = (int64_t)(s->lost + s->samples));
	else if (s->cut)
		err_raise(warning, ERROR_STACKS_CUT, .number = (int64_t)s->cut,
			  .count = (int64_t)s->samples);
}

/* `take` of report_taken(). */
static int sample(const struct args *args, int fd, char **name, struct err *warning,
		  struct err *err)
{
	_cleanup_(signals_close) struct signals stop = SIGNALS_INIT;
	const bool said = !args->quiet && !args->json, shown = said && isatty(STDERR_FILENO);
	struct ops_sites_request request = {
		.duration_ms = args->duration_ms ? args->duration_ms : DURATION_MS,
		.sample_bytes = args->sample_rate,
		.max_overhead = args_max_overhead(args),
		.fd = fd,
		.file = args->save,
		.force = args->force,
		.began = said && !shown ? say_it_begins : NULL,
		.ctx = &request,
		.progress = shown ? show_progress : NULL,
		.progress_ms = SHOW_MS,
	};
	_cleanup_(ops_sites_fini) struct ops_sites sites = { 0 };
	struct ops_options options;
	pid_t pid;
	int failed;

	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) || signals_open(&stop, err))
		return -1;
	options.stop_fd = stop.fd;
	failed = ops_sites(pid, &request, &options, &sites, err);
	if (shown)
		progress_clear();
	if (failed)
		return -1;
	say_how_it_went(args, &sites);
	find_warning(&sites, warning);
	return asprintf(name, "process %d", pid) < 0 ? err_no_memory(err) : 0;
}

static int run(const struct args *args, struct err *err)
{
	return args_check_overhead(args, err) ||
			       report_taken(args, sample, report_format_asked(args), err)
		       ? -1
		       : 0;
}

const struct command cmd_sites = {
	.name = "sites",
	.words = "PID",
	.help = "show which code allocates how much, from now on, without stopping a thread",
	.options = options_of_sites,
	.needs_pid = true,
	.run = run,
};
