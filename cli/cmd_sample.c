// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "arch/machine.h"
#include "base/cleanup.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "io/memory_file.h"
#include "ops/sample/sample.h"
#include "ops/sites/sites.h"
#include "sampler/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* How a sampling ended, for the user. */
static const char *how_it_ended(bool early, bool ended)
{
	return early ? ", ended by a signal" : ended ? ", until it ended" : "";
}

/* "1420 samples, about 1.2 % of a CPU", of so much time. */
#define TAKEN_SIZE 80
static const char *taken_text(uint64_t samples, uint64_t overhead_us, uint64_t ms,
			      char buf[TAKEN_SIZE])
{
	uint64_t permille = ms ? overhead_us / ms : 0;

	snprintf(buf, TAKEN_SIZE, "%" PRIu64 " samples, about %" PRIu64 ".%" PRIu64 " %% of a CPU",
		 samples, permille / 10, permille % 10);
	return buf;
}

/* --- sample --- */

#define SAMPLE_DURATION_MS 30000

#define OPTION_SAMPLE_RATE                                                                 \
	{                                                                                  \
		"sample-rate", 0, VALUE(SIZE, sample_rate), "SIZE",                        \
			"take a sample every SIZE bytes on average, 4K to 1T (512K)", NULL \
	}
#define OPTION_MAX_OVERHEAD                                                           \
	{                                                                             \
		"max-overhead", 0, VALUE(INT, max_overhead), "N",                     \
			"refuse or stop if it takes more than N % of a CPU (5)", NULL \
	}

static const struct option_def options_of_sample[] = {
	{ "duration", 'd', VALUE(DURATION, duration_ms), "D", "how long to sample (30s)", NULL },
	OPTION_SAMPLE_RATE,
	{ "min-age", 0, VALUE(DURATION, min_age_ms), "D",
	  "of what is not freed, count only what was allocated before the last D", NULL },
	OPTION_MAX_OVERHEAD,
	{ "format", 'f', VALUE(STRING, report_format), "FORMAT",
	  "text, tree, jeprof, or a format of convert (text)", report_formats },
	{ "output", 'o', VALUE(FILE, output), "FILE",
	  "write to FILE (stdout), in the format of its suffix", NULL },
	{ "save", 0, VALUE(FILE, save), "FILE", "also keep the profile in FILE", NULL },
	OPTION_FORCE,
	OPTIONS_OF_COUNTS,
	OPTIONS_OF_TABLES,
	OPTION_NO_CACHE,
	{ .name = NULL },
};

/* ": 230000 allocations/s, about 1.2 % of a CPU", if that is known. */
#define COST_SIZE 80
static const char *cost_text(const struct ops_sample_progress *p, char buf[COST_SIZE])
{
	if (!p->sample_bytes)
		snprintf(buf, COST_SIZE, ", by its own probes otel_memory");
	else if (p->prof)
		snprintf(buf, COST_SIZE, ", by jemalloc's own samples");
	else if (p->rate)
		snprintf(buf, COST_SIZE, ": %" PRIu64 " allocations/s, about %u.%u %% of a CPU",
			 p->rate, p->per_mille / 10, p->per_mille % 10);
	else
		*buf = '\0';
	return buf;
}

static int say_sample_begins(void *ctx, const struct ops_sample_progress *p, struct err *err)
{
	char who[OUT_WHO_SIZE], cost[COST_SIZE];

	(void)ctx;
	(void)err;
	fprintf(stderr, "sampling %s for %.1f s%s\n", out_who(p->cost, who, sizeof(who)),
		(double)p->duration_ms / 1000, cost_text(p, cost));
	return 0;
}

static void show_sample(void *ctx, const struct ops_sample_progress *p)
{
	char who[OUT_WHO_SIZE], taken[TAKEN_SIZE];

	(void)ctx;
	progress_show("sampling", out_who(p->cost, who, sizeof(who)), p->elapsed_ms, p->duration_ms,
		      taken_text(p->samples, p->overhead_us, p->elapsed_ms, taken));
}

/* Print what was sampled, and what it says about possible leaks. */
static void sum_up_sample(const struct args *args, const struct ops_sample *s)
{
	char who[OUT_WHO_SIZE], all[16], live[16], old[16], taken[TAKEN_SIZE];

	if (args->quiet || args->json)
		return;
	fprintf(stderr,
		"sampled %s for %.1f s%s: %s allocated, %s of it not freed, %s of that from the "
		"first half; %s\n",
		out_who(&s->cost, who, sizeof(who)), (double)s->duration_ms / 1000,
		how_it_ended(s->early, s->ended), text_size(s->allocated_bytes, all, sizeof(all)),
		text_size(s->live_bytes, live, sizeof(live)),
		text_size(s->old_bytes, old, sizeof(old)),
		taken_text(s->samples, s->overhead_us, s->duration_ms, taken));
}

static uint64_t duration_ms(const struct args *args)
{
	return args->duration_ms ? args->duration_ms : SAMPLE_DURATION_MS;
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
		.began = said ? say_sample_begins : NULL,
		.progress = shown ? show_sample : NULL,
		.progress_ms = PROGRESS_MS,
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
	sum_up_sample(args, &got);
	/* Warn about incomplete figures, or about something else the user should know. */
	if (got.left.code)
		*warning = got.left;
	else if (got.lost)
		err_raise(warning, ERROR_OBJECTS_LOST, .number = (int64_t)got.lost,
			  .count = (int64_t)(got.lost + got.samples));
	else if (got.cut)
		err_raise(warning, ERROR_STACKS_CUT, .number = (int64_t)got.cut,
			  .count = (int64_t)got.samples);
	else if (got.hidden.ids[0])
		*warning = got.hidden;
	else if (got.opt_prof && !got.prof)
		err_raise(warning, ERROR_RECORD_IS_CHEAPER, .pid = got.cost.pid,
			  .comm = got.cost.comm);
	return asprintf(name, "process %d", pid) < 0 ? err_no_memory(err) : 0;
}

static int check_sample_rate(const struct args *args, struct err *err)
{
	uint64_t rate = args->sample_rate;

	return rate && (rate < SAMPLER_BYTES_MIN || rate > SAMPLER_BYTES_MAX)
		       ? err_raise(err, ERROR_SAMPLE_RATE_RANGE)
		       : 0;
}

static int run_sample(const struct args *args, struct err *err)
{
	if (check_sample_rate(args, err))
		return -1;
	if (args->min_age_ms >= duration_ms(args))
		return err_raise(err, ERROR_MIN_AGE_TOO_LONG);
	return args_check_overhead(args, err) ||
			       report_taken(args, take_sample, report_format_asked(args), err)
		       ? -1
		       : 0;
}

const struct command cmd_sample = {
	.name = "sample",
	.words = "PID",
	.help = "profile allocations from now on, in a process that was not started for profiling",
	.options = options_of_sample,
	.needs_pid = true,
	.run = run_sample,
};

/* --- probes --- */

#define PROBES_DURATION_MS 600000

static const struct option_def options_of_probes[] = {
	{ "duration", 'd', VALUE(DURATION, duration_ms), "D", "how long they stay (10m)", NULL },
	OPTION_SAMPLE_RATE,
	OPTION_MAX_OVERHEAD,
	{ .name = NULL },
};

static int print_probe(const char *name, const struct ops_sample_progress *p,
		       const struct heap_probe *probe, const char *arguments, struct err *err)
{
	return out_line(err,
			"  echo 'p:otel_memory/%s %s:0x%" PRIx64 "(0x%" PRIx64 ") %s' "
			">>/sys/kernel/tracing/uprobe_events",
			name, p->image, probe->offset, probe->semaphore, arguments);
}

/* For people: what to type next. */
static int print_probes(const struct ops_sample_progress *p, struct err *err)
{
	const char *address = arch_trace_register(1), *size = arch_trace_register(2),
		   *bytes = arch_trace_register(3);
	char alloc[80], free[24];

	snprintf(alloc, sizeof(alloc), "address=%%%s:x64 size=%%%s:u64 bytes=%%%s:u64", address,
		 size, bytes);
	snprintf(free, sizeof(free), "address=%%%s:x64", address);
	return out_line(err, "For perf:") || print_probe("alloc", p, &p->alloc, alloc, err) ||
			       print_probe("free", p, &p->free, free, err) ||
			       out_line(err, "  perf record -e 'otel_memory:*' -p %d",
					p->cost->pid) ||
			       out_line(err, "For bpftrace:") ||
			       out_line(err,
					"  bpftrace -p %d -e 'uprobe:%s:0x%" PRIx64
					" { @[arg1] = sum(arg2) }'",
					p->cost->pid, p->image, p->alloc.offset)
		       ? -1
		       : 0;
}

static int show_probes(void *ctx, const struct ops_sample_progress *p, struct err *err)
{
	const struct args *args = ctx;
	char who[OUT_WHO_SIZE], cost[COST_SIZE], rate[16];

	if (args->json)
		return out_json(api_probes(p), err) || out_flush(err) ? -1 : 0;
	if (!args->quiet)
		fprintf(stderr, "probes in %s for %.1f s, a sample every %s%s\n",
			out_who(p->cost, who, sizeof(who)), (double)p->duration_ms / 1000,
			text_size(p->sample_bytes, rate, sizeof(rate)), cost_text(p, cost));
	return print_probes(p, err) || out_flush(err) ? -1 : 0;
}

static int run_probes(const struct args *args, struct err *err)
{
	_cleanup_(signals_close) struct signals stop = SIGNALS_INIT;
	_cleanup_(ops_sample_fini) struct ops_sample got = { 0 };
	_cleanup_(cleanup_close) int fd = -1;
	struct ops_sample_request request = {
		.for_others = true,
		.duration_ms = args->duration_ms ? args->duration_ms : PROBES_DURATION_MS,
		.sample_bytes = args->sample_rate,
		.max_overhead = args_max_overhead(args),
		.began = show_probes,
		.ctx = (void *)args,
	};
	struct err warning;
	struct ops_options options;
	char who[OUT_WHO_SIZE], count[40];
	pid_t pid;

	args_options(args, &options);
	if (check_sample_rate(args, err) || args_check_overhead(args, err) ||
	    args_pid(args, &options, &pid, err) || signals_open(&stop, err) ||
	    memory_file_make(&fd, err))
		return -1;
	options.stop_fd = stop.fd;
	request.fd = fd;
	if (ops_sample(pid, &request, &options, &got, err))
		return -1;
	snprintf(count, sizeof(count), ", %" PRIu64 " allocations", got.allocations);
	if (!args->quiet && !args->json)
		fprintf(stderr, "probes in %s: %.1f s%s%s\n", out_who(&got.cost, who, sizeof(who)),
			(double)got.duration_ms / 1000, how_it_ended(got.early, got.ended),
			got.prof ? "" : count);
	warning = *ops_sample_warning(&got);
	if (got.lost && !got.left.code)
		err_raise(&warning, ERROR_OBJECTS_UNREPORTED, .number = (int64_t)got.lost);
	if (warning.ids[0])
		out_warn((void *)args, &warning);
	return 0;
}

const struct command cmd_probes = {
	.name = "probes",
	.words = "PID",
	.help = "let perf, bpftrace and others see sampled allocations and their frees",
	.options = options_of_probes,
	.needs_pid = true,
	.run = run_probes,
};

/* --- sites --- */

#define SITES_DURATION_MS 10000

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
	OPTION_FORCE,
	OPTIONS_OF_TABLES,
	OPTION_NO_CACHE,
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

static void say_sites_begin(void *ctx, const struct ops_cost *cost)
{
	const struct ops_sites_request *request = ctx;
	char who[OUT_WHO_SIZE];

	fprintf(stderr, "sampling %s for %.1f s\n", out_who(cost, who, sizeof(who)),
		(double)request->duration_ms / 1000);
}

static void show_sites(void *ctx, const struct ops_sites_progress *p)
{
	char who[OUT_WHO_SIZE], rate[RATE_SIZE], allocated[RATE_SIZE + 16];

	(void)ctx;
	snprintf(allocated, sizeof(allocated), "%s allocated",
		 rate_text(p->allocated_bytes, p->elapsed_ms, rate));
	progress_show("sampling", out_who(p->cost, who, sizeof(who)), p->elapsed_ms, p->duration_ms,
		      allocated);
}

static void sum_up_sites(const struct args *args, const struct ops_sites *s)
{
	char who[OUT_WHO_SIZE], rate[RATE_SIZE], taken[TAKEN_SIZE];

	if (args->quiet || args->json)
		return;
	fprintf(stderr, "sampled %s for %.1f s%s: %s allocated, %s\n",
		out_who(&s->cost, who, sizeof(who)), (double)s->duration_ms / 1000,
		how_it_ended(s->early, s->ended),
		rate_text(s->allocated_bytes, s->duration_ms, rate),
		taken_text(s->samples, s->overhead_us, s->duration_ms, taken));
}

/* `take` of report_taken(). */
static int take_sites(const struct args *args, int fd, char **name, struct err *warning,
		      struct err *err)
{
	_cleanup_(signals_close) struct signals stop = SIGNALS_INIT;
	const bool said = !args->quiet && !args->json, shown = said && isatty(STDERR_FILENO);
	struct ops_sites_request request = {
		.duration_ms = args->duration_ms ? args->duration_ms : SITES_DURATION_MS,
		.sample_bytes = args->sample_rate,
		.max_overhead = args_max_overhead(args),
		.fd = fd,
		.file = args->save,
		.force = args->force,
		.began = said && !shown ? say_sites_begin : NULL,
		.ctx = &request,
		.progress = shown ? show_sites : NULL,
		.progress_ms = PROGRESS_MS,
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
	sum_up_sites(args, &sites);
	if (sites.lost)
		err_raise(warning, ERROR_SAMPLES_LOST, .number = (int64_t)sites.lost,
			  .count = (int64_t)(sites.lost + sites.samples));
	else if (sites.cut)
		err_raise(warning, ERROR_STACKS_CUT, .number = (int64_t)sites.cut,
			  .count = (int64_t)sites.samples);
	return asprintf(name, "process %d", pid) < 0 ? err_no_memory(err) : 0;
}

static int run_sites(const struct args *args, struct err *err)
{
	return args_check_overhead(args, err) ||
			       report_taken(args, take_sites, report_format_asked(args), err)
		       ? -1
		       : 0;
}

const struct command cmd_sites = {
	.name = "sites",
	.words = "PID",
	.help = "show which code allocates how much, from now on, without stopping a thread",
	.options = options_of_sites,
	.needs_pid = true,
	.run = run_sites,
};
