// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/cleanup.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/several.h"
#include "ops/watch/watch.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct option_def options_of_watch[] = {
	{ "all", 0, VALUE(FLAG, all), NULL, "every process, including those that start later",
	  NULL },
	{ "for", 0, VALUE(DURATION, for_ms), "D", "end after D", NULL },
	{ "count", 0, VALUE(INT, count), "N", "end after N dumps", NULL },
	{ "since-start", 0, VALUE(FLAG, since_start), NULL,
	  "show times since the start of the process, not the time of day", NULL },
	{ "no-uprobes", 0, VALUE(FLAG, no_uprobes), NULL,
	  "place no uprobes; detect dumps by their system calls only", NULL },
	{ "on-dump", 0, VALUE(STRING, on_event), "CMD",
	  "run CMD with sh for each dump, described in its environment", NULL },
	{ "on-dump-exec", 0, VALUE(FILE, on_event_exec), "PROGRAM",
	  "the same without a shell: run PROGRAM without arguments", NULL },
	{ .name = NULL },
};

#define FILE_SHOWN 4096
#define LINE_FORMAT "%-15s  %-24s  %-8s  %8s  %9s  %s"

static void show_duration(uint64_t us, char *buf, size_t size)
{
	if (us < 1000)
		snprintf(buf, size, "%" PRIu64 "us", us);
	else if (us < 1000000)
		snprintf(buf, size, "%.1fms", (double)us / 1e3);
	else
		snprintf(buf, size, "%.2fs", (double)us / 1e6);
}

static int print_row(const struct args *args, const struct ops_watch_event *e, struct err *err)
{
	char comm[PROC_COMM_SIZE * 4], who[PROC_COMM_SIZE * 4 + 16], when[32], took[32], size[16],
		safe[FILE_SHOWN], file[FILE_SHOWN + 256];
	bool foreign = e->container[0] && !e->by_us;
	struct tm tm;

	/* The time since the start, or the time of day in UTC, to the millisecond. */
	if (args->since_start) {
		snprintf(when, sizeof(when), "+%" PRIu64 ".%03" PRIu64, e->since_start_us / 1000000,
			 e->since_start_us / 1000 % 1000);
	} else {
		gmtime_r(&e->time.tv_sec, &tm);
		snprintf(when, sizeof(when), "%02d:%02d:%02d.%03ldZ", tm.tm_hour, tm.tm_min,
			 tm.tm_sec, e->time.tv_nsec / 1000000);
	}
	snprintf(who, sizeof(who), "%d (%s)", e->pid, output_safe(e->comm, comm, sizeof(comm)));
	show_duration(e->duration_us, took, sizeof(took));
	output_safe(!e->file				? "-"
		    : e->by_us && !strcmp(e->file, "-") ? "stdout"
							: e->file,
		    safe, sizeof(safe));
	snprintf(file, sizeof(file), "%s%s%s%s%s%s", safe, e->by_us ? " (by jeprof-ctl)" : "",
		 foreign ? " in " : "", foreign ? e->container : "", e->error ? ": " : "",
		 e->error ? e->error : "");
	return out_line(err, "%s" LINE_FORMAT "%s",
			out_ink(args, STDOUT_FILENO, e->ok ? INK_NONE : INK_RED), when, who,
			watch_kind_name(e->kind),
			!e->ok	       ? "failed"
			: e->has_bytes ? text_size(e->bytes, size, sizeof(size))
				       : "-",
			took, file, out_ink(args, STDOUT_FILENO, INK_NONE));
}

/* One document per line, flushed immediately: a reader may be waiting for it. */
static int print_ndjson(struct json_object *doc, struct err *err)
{
	int ret = out_line(err, "%s",
			   json_object_to_json_string_ext(
				   doc, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));

	json_object_put(doc);
	return ret ? ret : out_flush(err);
}

static int on_event(void *ctx, const struct ops_watch_event *e, struct err *err)
{
	const struct args *args = ctx;

	if (args->json)
		return print_ndjson(api_watch_event(e, args->since_start), err);
	return print_row(args, e, err) ? -1 : out_flush(err);
}

static int on_lost(void *ctx, uint64_t n, struct err *err)
{
	const struct args *args = ctx;

	if (!args->json)
		return out_line(err, "%" PRIu64 " event%s lost (ring buffer full)", n,
				n == 1 ? "" : "s") ||
				       out_flush(err)
			       ? -1
			       : 0;
	return print_ndjson(api_watch_lost(n), err);
}

static int on_ready(void *ctx, size_t processes, struct err *err)
{
	const struct args *args = ctx;

	if (!args->quiet)
		fprintf(stderr, "watching %zu process%s%s\n", processes, processes == 1 ? "" : "es",
			args->all ? ", and any that start later" : "");
	if (args->json)
		return 0;
	return out_line(err, LINE_FORMAT, "TIME", "PROCESS", "KIND", "SIZE", "TOOK", "FILE") ||
			       out_flush(err)
		       ? -1
		       : 0;
}

static void on_warning(void *ctx, const struct err *warning)
{
	const struct args *args = ctx;

	if (!args->quiet)
		out_warn(ctx, warning);
}

static int run(const struct args *args, struct err *err)
{
	_cleanup_(signals_close) struct signals stop = SIGNALS_INIT;
	struct ops_watch_summary sum = { 0 };
	pid_t pids[PIDS_MAX];
	struct ops_watch_request request = {
		.pids = pids,
		.all = args->all,
		.stacks = args->json,
		.debuginfod = args->debuginfod,
		.no_uprobes = args->no_uprobes,
		.for_ms = args->for_ms,
		.count = (uint64_t)args->count,
		.on_dump = args->on_event,
		.on_dump_exec = args->on_event_exec,
		.out_fd = STDOUT_FILENO,
		.ready = on_ready,
		.event = on_event,
		.lost = on_lost,
		.on_warning = on_warning,
		.ctx = (void *)args,
	};
	int ret;

	if (args->on_event && args->on_event_exec)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--on-dump",
				 .what = "--on-dump-exec");
	if (several_pids(args, pids, &request.n_pids, err))
		return -1;
	if (args->all == (request.n_pids > 0))
		return args->all ? err_raise(err, ERROR_EXCLUSIVE, .name = "--all", .what = "PID")
				 : err_raise(err, ERROR_WATCH_NEEDS_PROCESSES, .name = "watch");
	if (signals_open(&stop, err))
		return -1;
	request.stop_fd = stop.fd;
	ret = ops_watch(&request, &sum, err);
	if (args->quiet || (ret && !sum.events))
		return ret;
	fprintf(stderr, "%" PRIu64 " dumps, %" PRIu64 " failed, %" PRIu64 " lost\n", sum.events,
		sum.failed, sum.lost);
	if (sum.skipped || sum.commands_failed)
		fprintf(stderr,
			"%" PRIu64 " commands failed, %" PRIu64 " were not run: too many were "
			"waiting\n",
			sum.commands_failed, sum.skipped);
	return ret;
}

const struct command cmd_watch = {
	.name = "watch",
	.words = "[PID...]",
	.help = "show every heap dump as it happens, whatever caused it",
	.options = options_of_watch,
	.pid_by_option = true,
	.stays = true,
	.max_words = WORDS_MAX,
	.run = run,
};
