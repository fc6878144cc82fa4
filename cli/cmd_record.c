// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/cleanup.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/apart.h"
#include "cli/commands.h"
#include "cli/growth.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/several.h"
#include "io/errand.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DURATION_MS 30000
#define SHOW_MS 250			  /* on a terminal */
#define LOG_MS 60000			  /* elsewhere */
#define WORTH_A_WORD (UINT64_C(16) << 20) /* bytes of RSS growth to be reported */
#define MEMORY_SIZE 96

static const struct option_def options_of_record[] = {
	{ "duration", 'd', VALUE(DURATION, duration_ms), "D", "how long to sample (30s)", NULL },
	{ "output", 'o', VALUE(FILE, output), "FILE",
	  "write the last profile to FILE (COMM.PID.UTC-TIMESTAMP.heap)", NULL },
	{ "until", 0, VALUE(STRING, until), "CONDITION",
	  "end when memory has grown: rss+500M, rss+10%/min, 'rss>2G', 'cgroup>80%'", NULL },
	{ "sample-rate", 0, VALUE(SIZE, sample_rate), "SIZE",
	  "sample every SIZE bytes, a power of two such as 64K (the current rate)", NULL },
	{ "interval", 0, VALUE(DURATION, interval_ms), "D", "also dump every D", NULL },
	{ "keep", 0, VALUE(INT, keep), "N", "keep only the newest N of these dumps", NULL },
	{ "format", 'f', VALUE(STRING, report_format), "FORMAT,...",
	  "also write the difference as pprof, folded, html, svg, ...",
	  report_formats + REPORT_FORMATS_ONLY },
	{ "progress", 0, VALUE(DURATION, progress_ms), "D",
	  "report progress every D if stderr is not a terminal (1m)", NULL },
	OPTION_MAX_SIZE("a profile", "1G"),
	OPTION_NO_FOLD,
	OPTION_ALLOCATOR,
	{ "force", 0, VALUE(FLAG, force), NULL, "replace existing files", NULL },
	{ .name = NULL },
};

/* "+1.2M" */
static const char *growth(uint64_t before, uint64_t after, char *buf, size_t size)
{
	char bytes[16];

	snprintf(buf, size, "%c%s", after < before ? '-' : '+',
		 text_size(after < before ? before - after : after - before, bytes, sizeof(bytes)));
	return buf;
}

/* "allocated 3.4M (+1.2M), RSS 10M (+2M)"; the amount allocated now may be unknown (0). */
static const char *memory(const uint64_t allocated[2], const uint64_t rss[2], char *buf,
			  size_t size)
{
	char now[16], more[20];
	size_t n = 0;

	if (allocated[0] && !allocated[1])
		n = (size_t)snprintf(buf, size, "allocated %s at first, ",
				     text_size(allocated[0], now, sizeof(now)));
	else if (allocated[0])
		n = (size_t)snprintf(buf, size, "allocated %s (%s), ",
				     text_size(allocated[1], now, sizeof(now)),
				     growth(allocated[0], allocated[1], more, sizeof(more)));
	snprintf(buf + n, size - n, "RSS %s (%s)", text_size(rss[1], now, sizeof(now)),
		 growth(rss[0], rss[1], more, sizeof(more)));
	return buf;
}

/* A new line each time, for logs. */
static void log_progress(void *ctx, const struct ops_record_progress *p)
{
	const uint64_t allocated[] = { p->allocated_before_bytes, p->allocated_bytes };
	const uint64_t rss[] = { p->rss_before_bytes, p->rss_bytes };
	char who[OUT_WHO_SIZE], used[MEMORY_SIZE], of[32] = "";

	(void)ctx;
	if (p->duration_ms)
		snprintf(of, sizeof(of), " of %" PRIu64 " s", (p->duration_ms + 500) / 1000);
	fprintf(stderr, "recording %s: %" PRIu64 "%s%s, %s\n", out_who(p->cost, who, sizeof(who)),
		p->elapsed_ms / 1000, *of ? "" : " s", of,
		memory(allocated, rss, used, sizeof(used)));
}

/* On a terminal: one line, rewritten in place. */
static void show_progress(void *ctx, const struct ops_record_progress *p)
{
	const uint64_t allocated[] = { p->allocated_before_bytes, p->allocated_bytes };
	const uint64_t rss[] = { p->rss_before_bytes, p->rss_bytes };
	char who[OUT_WHO_SIZE], bar[PROGRESS_BAR_SIZE], used[MEMORY_SIZE], line[PROGRESS_LINE_SIZE];
	int len;
	uint64_t left = p->duration_ms > p->elapsed_ms ? p->duration_ms - p->elapsed_ms : 0;

	(void)ctx;
	out_who(p->cost, who, sizeof(who));
	memory(allocated, rss, used, sizeof(used));
	if (!p->duration_ms) {
		snprintf(line, sizeof(line), "recording %.30s for %" PRIu64 "s, %s", who,
			 p->elapsed_ms / 1000, used);
		return progress_line(line);
	}
	len = snprintf(line, sizeof(line), "recording %.30s [%s] %" PRIu64 "s left, %s", who,
		       progress_bar(p->elapsed_ms, p->duration_ms, bar), (left + 999) / 1000, used);
	if (len >= progress_columns()) /* it would wrap */
		snprintf(line, sizeof(line), "%.30s %" PRIu64 "s left, %s", who,
			 (left + 999) / 1000, used);
	progress_line(line);
}

static int print_file(const struct args *args, const char *file, const char *what, struct err *err)
{
	char safe[4096];

	output_safe(file, safe, sizeof(safe));
	return args->quiet ? out_line(err, "%s", safe) : out_line(err, "%s (%s)", safe, what);
}

static void say_what_is_left(const struct ops_record *r)
{
	const char *since = "";

	if (!r->adopted) {
		fputs("profiling is off again\n", stderr);
		return;
	}
	if (r->opt_active == TRI_YES)
		since = ", as the program was started (opt.prof_active)";
	else if (r->opt_active == TRI_NO)
		since = ", turned on after the start by an activate or the program itself";
	fprintf(stderr, "profiling was on before%s, and %s\n", since,
		r->stopped ? "was turned off meanwhile" : "still is");
}

static const char *how_it_ended(const struct args *args, const struct ops_record *r, char *buf,
				size_t size)
{
	char safe[64];

	if (r->early)
		return ", ended by a signal";
	if (!args->until)
		return "";
	snprintf(buf, size, ", %s%s", r->reached ? "until " : "without reaching ",
		 output_safe(args->until, safe, sizeof(safe)));
	return buf;
}

static void say_how_it_ended(const struct args *args, const struct ops_record *r)
{
	const uint64_t allocated[] = { r->allocated_before_bytes, r->allocated_after_bytes };
	const uint64_t rss[] = { r->rss_before_bytes, r->rss_after_bytes };
	char who[OUT_WHO_SIZE], used[MEMORY_SIZE], how[96];

	if (args->quiet || args->json)
		return;
	fprintf(stderr, "recorded %s for %" PRIu64 ".%" PRIu64 " s%s; %s\n",
		out_who(&r->cost, who, sizeof(who)), r->duration_ms / 1000,
		r->duration_ms / 100 % 10, how_it_ended(args, r, how, sizeof(how)),
		memory(allocated, rss, used, sizeof(used)));
	if (r->missed)
		fprintf(stderr, "%zu dumps of the series are missing: there was no safe moment\n",
			r->missed);
	say_what_is_left(r);
}

static int print_files(const struct args *args, const struct ops_record *record, struct err *err)
{
	if (print_file(args, record->first, "at the beginning", err))
		return -1;
	for (size_t i = 0; i < record->n_series; i++) {
		if (print_file(args, record->series[i], "meanwhile", err))
			return -1;
	}
	return print_file(args, record->last, "at the end", err);
}

/* The common beginning of all file names. */
static const char *stem_of(const char *file, char *buf, size_t size)
{
	snprintf(buf, size, "%.*s", (int)text_stem(file, ".heap"), file);
	return buf;
}

struct job {
	const struct args *args;
	const struct ops_record *record;
	struct ops_symbolize_options symbols;
	unsigned int formats;
	const struct growth_paths *paths;
};

static double more(double before, double after)
{
	return after > before ? after - before : 0;
}

/*
 * If most of the growth of RSS did not come from jemalloc, the profile cannot show it. Memory that
 * sampling takes is jemalloc's, not the program's.
 */
static int print_what_else_grew(const struct ops_record *r, const struct ops_diff *d,
				struct err *err)
{
	double sampling = more(d->coverage_before.added, d->coverage.added);
	double allocated = more(d->coverage_before.allocated, d->coverage.allocated);
	uint64_t rss = r->rss_after_bytes > r->rss_before_bytes
			       ? r->rss_after_bytes - r->rss_before_bytes
			       : 0;
	char grown[16], own[16], taken[16];

	if (!(d->coverage.allocated > 0) || rss < WORTH_A_WORD ||
	    allocated + sampling >= (double)rss / 2)
		return 0;
	return out_line(err,
			"RSS grew by %s, the program's allocations by %s, and the memory taken by "
			"sampling by up to %s: jeprof-ctl explain %d shows what else is resident",
			text_size(rss, grown, sizeof(grown)),
			text_size((uint64_t)allocated, own, sizeof(own)),
			text_size((uint64_t)sampling, taken, sizeof(taken)), r->cost.pid);
}

static int print_growth(const struct job *j, const struct ops_diff *diff, struct err *err)
{
	char text[GROWTH_COUNTED_SIZE];
	const char *counted = growth_counted(diff, text, sizeof(text));

	if (growth_print(j->args, diff, err) || (counted && out_line(err, "%s", counted)))
		return -1;
	return print_what_else_grew(j->record, diff, err);
}

static int print_difference(const void *ctx, struct err *err)
{
	_cleanup_(ops_diff_fini) struct ops_diff diff = { 0 };
	struct job j = *(const struct job *)ctx;
	struct profile_fold fold;
	_cleanup_(json_close) struct json_object *warnings =
		report_warnings(j.args, j.args->json, &j.symbols);

	if (ops_diff(j.record->first, j.record->last, &j.symbols, &diff, err) ||
	    (j.formats && (ops_diff_find(&diff, NULL, err) ||
			   growth_write(j.args, j.formats, &diff, j.paths, err))) ||
	    ops_diff_find(&diff, report_fold(j.args, &fold), err))
		return -1;
	if (j.args->json)
		return out_json(api_with_warnings(api_record(j.record, &diff,
							     (const char *const *)j.paths->v,
							     j.paths->n),
						  take_ptr(warnings)),
				err);
	return j.args->quiet ? 0 : print_growth(&j, &diff, err);
}

static int print_apart(const struct args *args, unsigned int formats,
		       const struct ops_record *record, struct err *err)
{
	_cleanup_(growth_paths_fini) struct growth_paths paths = { 0 };
	struct job job = { .args = args, .record = record, .formats = formats, .paths = &paths };
	const char *const inputs[] = { record->first, record->last };
	struct apart apart = {
		.inputs = inputs,
		.n_inputs = 2,
		.symbols = &job.symbols,
		.run = print_difference,
		.ctx = &job,
	};
	char stem[4096];

	if (report_symbols(args, &job.symbols, err) ||
	    growth_paths(formats, stem_of(record->last, stem, sizeof(stem)), &paths, err))
		return -1;
	apart.outputs = (const char *const *)paths.v;
	apart.n_outputs = paths.n;
	return apart_run(args, &apart, err);
}

static int print(const struct args *args, unsigned int formats, const struct ops_record *record,
		 struct err *err)
{
	out_warning(args, &record->warning);
	out_cost(args, &record->cost);
	say_how_it_ended(args, record);
	if (!args->json && print_files(args, record, err))
		return -1;
	if (args->quiet && !args->json && !args->report_format)
		return 0;
	return print_apart(args, formats, record, err);
}

static int request_of(const struct args *args, struct ops_record_request *request, struct err *err)
{
	bool said = !args->quiet && !args->json, shown = said && isatty(STDERR_FILENO);
	uint64_t log_ms = args->progress_ms ? args->progress_ms : LOG_MS;

	*request = (struct ops_record_request){
		.duration_ms = args->duration_ms ? args->duration_ms
			       : args->until	 ? 0
						 : DURATION_MS,
		.interval_ms = args->interval_ms,
		.keep = (unsigned int)args->keep,
		.file = args->output,
		.force = args->force,
		.progress = shown  ? show_progress
			    : said ? log_progress
				   : NULL,
		.progress_ms = shown ? SHOW_MS : log_ms,
		.count = shown,
	};
	if ((args->until && until_parse(args->until, &request->until, err)) ||
	    args_sample_rate(args, &request->lg_sample, err))
		return -1;
	if (args->output && !strcmp(args->output, "-")) {
		err_raise(err, ERROR_RECORDING_TO_STDOUT);
		return err_advise(err, FIX_NAME_THE_LAST_FILE);
	}
	if (request->interval_ms && request->duration_ms &&
	    request->interval_ms >= request->duration_ms) {
		err_raise(err, ERROR_INTERVAL_TOO_LONG);
		return err_advise(err, FIX_RECORD_FOR_LONGER);
	}
	if (args->keep && !args->interval_ms)
		return err_raise(err, ERROR_KEEP_WITHOUT_INTERVAL);
	return 0;
}

/* Check before recording that the final files can be written. Generated names are new. */
static int check_files(const struct args *args, unsigned int formats, struct err *err)
{
	char stem[4096];

	return args->output && !ops_names_folder(args->output)
		       ? growth_check_files(args, formats,
					    stem_of(args->output, stem, sizeof(stem)), err)
		       : 0;
}

static int run(const struct args *args, struct err *err)
{
	_cleanup_(ops_record_fini) struct ops_record record = { 0 };
	_cleanup_(signals_close) struct signals stop = SIGNALS_INIT;
	struct ops_record_request request;
	struct ops_options options;
	unsigned int formats;
	pid_t pid;
	int ret;

	args_options(args, &options);
	if (request_of(args, &request, err) || growth_formats(args->report_format, &formats, err) ||
	    args_pid(args, &options, &pid, err) || check_files(args, formats, err) ||
	    signals_open(&stop, err))
		return -1;
	options.stop_fd = stop.fd;
	ret = ops_record(pid, &request, &options, &record, err);
	signals_close(&stop);
	if (request.count)
		progress_clear();
	if (ret)
		return -1;
	several_report_turn(args);
	return print(args, formats, &record, err);
}

const struct command cmd_record = {
	.name = "record",
	.words = "PID...",
	.help = "sample for a while, and put everything back as it was",
	.options = options_of_record,
	.needs_pid = true,
	.heading = true,
	.max_words = WORDS_MAX,
	.run = run,
	.run_several = several_at_once,
};
