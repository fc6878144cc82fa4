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
#include "profile/format/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- dump --- */

static const struct option_def options_of_dump[] = {
	{ "output", 'o', VALUE(FILE, output), "FILE",
	  "write the profile to FILE, - for stdout (COMM.PID.UTC-TIMESTAMP.heap)", NULL },
	{ "format", 'f', VALUE(STRING, report_format), "FORMAT",
	  "convert it to pprof, folded, html, svg, ... (as it is)",
	  report_formats + REPORT_FORMATS_ONLY },
	OPTION_MAX_STACKS,
	OPTION_NO_CACHE,
	{ "in-target", 0, VALUE(OPTIONAL, in_target), "[PATH]",
	  "have the process write it itself, to PATH or by its own prefix", NULL },
	OPTION_MAX_SIZE("a profile", "1G"),
	{ "if-active", 0, VALUE(FLAG, if_active), NULL, "fail while prof.active is false", NULL },
	OPTION_FORCE,
	{ .name = NULL },
};

static int request_of_dump(const struct args *args, struct ops_dump_request *request,
			   bool to_stdout, struct err *err)
{
	enum profile_format format = args->report_format
					     ? profile_format_by_name(args->report_format)
					     : PROFILE_FORMAT_NONE;

	*request = (struct ops_dump_request){
		.file = args->output,
		.stream_fd = to_stdout ? STDOUT_FILENO : -1,
		.force = args->force,
		.format = args->report_format,
		.max_stacks = (size_t)args->max_stacks,
		.no_cache = args->no_cache,
		.on_warning = args->json    ? api_warning_add
			      : args->quiet ? NULL
					    : out_warn,
		.only_active = args->if_active,
		.in_target = args->in_target != NULL,
		.target_path = args->in_target && *args->in_target ? args->in_target : NULL,
	};
	if (args->in_target && args->output)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--in-target", .what = "-o");
	if (args->in_target && args->report_format)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--in-target", .what = "-f");
	if (report_check_stacks(args, args->report_format, err))
		return -1;
	if (to_stdout && format != PROFILE_FORMAT_NONE && profile_format_info(format)->binary &&
	    isatty(STDOUT_FILENO)) {
		err_raise(err, ERROR_TO_TERMINAL, .name = args->report_format);
		return err_advise(err, FIX_WRITE_TO_FILE);
	}
	if (to_stdout && args->json) {
		err_raise(err, ERROR_BOTH_WANT_STDOUT);
		return err_advise(err, FIX_WRITE_PROFILE_TO_FILE);
	}
	return 0;
}

static int run_dump(const struct args *args, struct err *err)
{
	_cleanup_(ops_dump_fini) struct ops_dump dump = { 0 };
	_cleanup_(json_close) struct json_object *warnings = json_object_new_array();
	bool to_stdout = args->output && !strcmp(args->output, "-");
	char safe[4096], size[16], who[OUT_WHO_SIZE];
	struct ops_dump_request request;
	struct ops_options options;
	pid_t pid;

	args_options(args, &options);
	if (request_of_dump(args, &request, to_stdout, err) || args_pid(args, &options, &pid, err))
		return -1;
	request.ctx = warnings;
	if (ops_dump(pid, &request, &options, &dump, err))
		return -1;
	out_warning(args, &dump.warning);
	out_cost(args, &dump.cost);
	if (to_stdout)
		return 0;
	if (args->json)
		return out_json(api_with_warnings(api_dump(&dump), json_object_get(warnings)), err);
	if (!dump.file)
		return out_line(err, "%s wrote a profile", out_who(&dump.cost, who, sizeof(who)));
	output_safe(dump.file, safe, sizeof(safe));
	if (args->quiet)
		return out_line(err, "%s", safe);
	return out_line(err, "%s (%s%s)", safe, text_size(dump.bytes, size, sizeof(size)),
			dump.via == OPS_VIA_TARGET ? ", in the target's file system" : "");
}

const struct command cmd_dump = {
	.name = "dump",
	.words = "PID...",
	.help = "fetch a heap profile",
	.options = options_of_dump,
	.needs_pid = true,
	.max_words = WORDS_MAX,
	.run = run_dump,
	.run_several = several_each,
};

/* --- record --- */

#define DURATION_MS 30000
#define LOG_MS 60000			  /* where it is not */
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
	char who[OUT_WHO_SIZE], used[MEMORY_SIZE];

	(void)ctx;
	progress_show("recording", out_who(p->cost, who, sizeof(who)), p->elapsed_ms,
		      p->duration_ms, memory(allocated, rss, used, sizeof(used)));
}

static int print_file(const struct args *args, const char *file, const char *what, struct err *err)
{
	char safe[4096];

	output_safe(file, safe, sizeof(safe));
	return args->quiet ? out_line(err, "%s", safe) : out_line(err, "%s (%s)", safe, what);
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
	const char *since = "";

	if (args->quiet || args->json)
		return;
	fprintf(stderr, "recorded %s for %" PRIu64 ".%" PRIu64 " s%s; %s\n",
		out_who(&r->cost, who, sizeof(who)), r->duration_ms / 1000,
		r->duration_ms / 100 % 10, how_it_ended(args, r, how, sizeof(how)),
		memory(allocated, rss, used, sizeof(used)));
	if (r->missed)
		fprintf(stderr, "%zu dumps of the series are missing: there was no safe moment\n",
			r->missed);
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

static int print_growth(const struct job *j, const struct ops_diff *d, struct err *err)
{
	const struct ops_record *r = j->record;
	char text[GROWTH_COUNTED_SIZE], grown[16], own[16], taken[16];
	const char *counted = growth_counted(d, text, sizeof(text));
	double sampling = more(d->coverage_before.added, d->coverage.added);
	double allocated = more(d->coverage_before.allocated, d->coverage.allocated);
	uint64_t rss = r->rss_after_bytes > r->rss_before_bytes
			       ? r->rss_after_bytes - r->rss_before_bytes
			       : 0;

	if (growth_print(j->args, d, err) || (counted && out_line(err, "%s", counted)))
		return -1;
	/*
	 * If most of the growth of RSS did not come from jemalloc, the profile cannot show it.
	 * Memory that sampling takes is jemalloc's, not the program's.
	 */
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

static int request_of_record(const struct args *args, struct ops_record_request *request,
			     struct err *err)
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
		.progress_ms = shown ? PROGRESS_MS : log_ms,
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

static int run_record(const struct args *args, struct err *err)
{
	_cleanup_(ops_record_fini) struct ops_record record = { 0 };
	_cleanup_(signals_close) struct signals stop = SIGNALS_INIT;
	struct ops_record_request request;
	struct ops_options options;
	unsigned int formats;
	char stem[4096];
	pid_t pid;
	int ret;

	args_options(args, &options);
	if (request_of_record(args, &request, err) ||
	    growth_formats(args->report_format, &formats, err) ||
	    args_pid(args, &options, &pid, err))
		return -1;
	/* Check before recording that the final files can be written. Generated names are new. */
	if (args->output && !ops_names_folder(args->output) &&
	    growth_check_files(args, formats, stem_of(args->output, stem, sizeof(stem)), err))
		return -1;
	if (signals_open(&stop, err))
		return -1;
	options.stop_fd = stop.fd;
	ret = ops_record(pid, &request, &options, &record, err);
	signals_close(&stop);
	if (request.count)
		progress_clear();
	if (ret)
		return -1;
	several_report_turn(args);
	out_warning(args, &record.warning);
	out_cost(args, &record.cost);
	say_how_it_ended(args, &record);
	if (!args->json) {
		if (print_file(args, record.first, "at the beginning", err))
			return -1;
		for (size_t i = 0; i < record.n_series; i++) {
			if (print_file(args, record.series[i], "meanwhile", err))
				return -1;
		}
		if (print_file(args, record.last, "at the end", err))
			return -1;
	}
	if (args->quiet && !args->json && !args->report_format)
		return 0;
	return print_apart(args, formats, &record, err);
}

const struct command cmd_record = {
	.name = "record",
	.words = "PID...",
	.help = "sample for a while, and put everything back as it was",
	.options = options_of_record,
	.needs_pid = true,
	.heading = true,
	.max_words = WORDS_MAX,
	.run = run_record,
	.run_several = several_at_once,
};

/* --- undo --- */

static int print_line(const struct args *args, const struct ops_undone *u, struct err *err)
{
	const struct ops_cost named = { .pid = u->pid };
	char who[OUT_WHO_SIZE], text[ERR_TEXT_SIZE];
	struct ops_cost cost = named;

	memcpy(cost.comm, u->comm, sizeof(cost.comm));
	out_cost(args, &u->cost);
	if (*u->comm)
		out_who(&cost, who, sizeof(who));
	else
		snprintf(who, sizeof(who), "%d", u->pid);
	switch (u->how) {
	case OPS_UNDO_NOTHING:
		return out_line(err, "%s: there was nothing to put back", who);
	case OPS_UNDO_ENDED:
		return out_line(err, "%s: it has ended, there is nothing to put back", who);
	case OPS_UNDO_DONE:
		if (u->sampler)
			return out_line(err, "%s: it is no longer sampled", who);
		return out_line(err, "%s: %s%s", who,
				u->active ? "profiling is off again"
				: u->kept ? "profiling is left as it is"
					  : "profiling was off already",
				u->rate ? "; the sample rate is as it was" : "");
	case OPS_UNDO_RUNNING:
	case OPS_UNDO_FAILED:
		break;
	}
	return out_line(err, "%s: %s", who, err_text(&u->why, text, sizeof(text)));
}

static int print_undo(const struct args *args, const struct ops_undone *v, size_t n,
		      struct err *err)
{
	if (args->json)
		return out_json(api_undo(v, n), err);
	if (!n)
		return args->quiet ? 0 : out_line(err, "no recording left anything to put back");
	for (size_t i = 0; i < n; i++) {
		if (print_line(args, &v[i], err))
			return -1;
	}
	return 0;
}

static int run_undo(const struct args *args, struct err *err)
{
	_cleanup_(ops_undo_fini) struct ops_undo undo = { 0 };
	struct ops_undone undone = { 0 };
	struct ops_options options;
	int status = 0;
	pid_t pid;

	args_options(args, &options);
	if (args->pid) {
		if (args_pid(args, &options, &pid, err) || ops_undo(pid, &options, &undone, err))
			return -1;
		return print_undo(args, &undone, 1, err);
	}
	if (ops_undo_all(&options, &undo, err) || print_undo(args, undo.v, undo.n, err))
		return -1;
	for (size_t i = 0; i < undo.n && !status; i++) {
		if (undo.v[i].how == OPS_UNDO_FAILED)
			status = err_exit_status(undo.v[i].why.code);
	}
	return status;
}

/* One document for all, as without a process. */
static int run_several_undo(const struct several *s, struct err *err)
{
	_cleanup_(ops_undo_fini) struct ops_undo undo = { .v = calloc(s->n, sizeof(*undo.v)) };
	struct ops_options options;
	struct tally tally = { 0 };

	if (!undo.v)
		return err_no_memory(err);
	args_options(s->args, &options);
	for (; undo.n < s->n; undo.n++) {
		struct ops_undone *one = &undo.v[undo.n];
		const struct target *t = &s->v[undo.n];

		options.start_time = t->match.start_time;
		if (ops_undo(t->match.pid, &options, one, &one->why)) {
			one->pid = t->match.pid;
			memcpy(one->comm, t->match.comm, sizeof(one->comm));
			one->how = one->why.code == ERR_BUSY ? OPS_UNDO_RUNNING : OPS_UNDO_FAILED;
		}
		several_count(&tally, t, err_exit_status(one->why.code));
	}
	return print_undo(s->args, undo.v, undo.n, err) ? -1 : several_sum(s, &tally);
}

const struct command cmd_undo = {
	.name = "undo",
	.words = "[PID...]",
	.help = "put back what killed recordings changed",
	.needs_pid = true,
	.pid_optional = true,
	.max_words = WORDS_MAX,
	.run = run_undo,
	.run_several = run_several_undo,
};
