// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/apart.h"
#include "cli/commands.h"
#include "cli/growth.h"
#include "cli/out.h"
#include "cli/report.h"
#include "ops/bundle.h"
#include "ops/report.h"
#include "profile/format/format.h"
#include "profile/format/series_page.h"
#include "profile/leaks.h"
#include "profile/significance.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- report --- */

static const struct option_def options_of_report[] = {
	{ "format", 'f', VALUE(STRING, report_format), "FORMAT",
	  "text, tree, jeprof, or a format of convert (text)", report_formats },
	OPTION_MAX_STACKS,
	{ "output", 'o', VALUE(FILE, output), "FILE",
	  "write to FILE (stdout), in the format of its suffix", NULL },
	OPTION_FORCE,
	{ "save", 0, VALUE(FILE, save), "FILE", "with a process: keep its profile in FILE", NULL },
	{ "sum", 0, VALUE(FLAG, sum), NULL, "add up even several profiles of one process", NULL },
	{ "base", 0, VALUE(FILE, base), "FILE", "subtract the profile in FILE", NULL },
	{ "diff-base", 0, VALUE(FILE, base), "FILE", "the same as --base", NULL },
	{ "drop-negative", 0, VALUE(FLAG, drop_negative), NULL, "with --base: count decreases as 0",
	  NULL },
	OPTIONS_OF_COUNTS,
	{ "thread", 0, VALUE(STRING, thread), "N|NAME",
	  "only what one thread of the profile allocated, or all threads of that name", NULL },
	OPTIONS_OF_TABLES,
	OPTION_ROOT,
	OPTION_TRUST_IMAGES,
	OPTION_NO_CACHE,
	{ .name = NULL },
};

static int run_report(const struct args *args, struct err *err)
{
	const char *format = report_format_asked(args);
	struct args one = *args;
	int64_t number = 0;

	if (args_name_process(args) ||
	    (args->n_words == 1 && args_word_is_process(args, 0, &number))) {
		if (number) {
			args_warn_of_file(args, number);
			one.pid = number;
			one.n_words = 0;
		} else if (args->n_words) {
			return err_raise(err, ERROR_EXCLUSIVE, .name = "a process",
					 .what = "a file");
		}
		return report_run(&one, NULL, 0, format, err);
	}
	if (args->save)
		return err_raise(err, ERROR_SAVE_IS_FOR_PROCESS);
	if (!args->n_words) {
		err_raise(err, ERROR_ARGUMENT_MISSING, .name = "report");
		return err_advise(err, FIX_SEE_COMMAND_HELP, .command = "report");
	}
	return report_run(args, args->words, args->n_words, format, err);
}

const struct command cmd_report = {
	.name = "report",
	.words = "PID|FILE...",
	.help = "show a heap profile, read from a file or dumped by a process now",
	.options = options_of_report,
	.pid_by_option = true,
	.max_words = WORDS_MAX,
	.run = run_report,
};

/* --- convert --- */

static const struct option_def options_of_convert[] = {
	{ "format", 'f', VALUE(STRING, report_format), "FORMAT",
	  "write this format instead of that of OUT's suffix", report_formats },
	OPTION_MAX_STACKS,
	OPTION_FORCE,
	{ "inuse-objects", 0, VALUE(FLAG, inuse_objects), NULL,
	  "count objects, in formats that hold only one count", NULL },
	{ "keep-allocator", 0, VALUE(FLAG, keep_allocator), NULL,
	  "keep calls within malloc and the like", NULL },
	OPTION_ROOT,
	OPTION_TRUST_IMAGES,
	{ .name = NULL },
};

static int run_convert(const struct args *args, struct err *err)
{
	struct args to = *args;

	if (args->json)
		return err_raise(err, ERROR_CONVERT_HAS_NO_JSON);
	to.output = args->words[1];
	return report_infer_format(&to, err)
		       ? -1
		       : report_run(&to, args->words, 1, to.report_format, err);
}

const struct command cmd_convert = {
	.name = "convert",
	.words = "IN OUT",
	.help = "write a heap profile in another format",
	.options = options_of_convert,
	.min_words = 2,
	.max_words = 2,
	.run = run_convert,
};

/* --- diff --- */

static const struct option_def options_of_diff[] = {
	{ "format", 'f', VALUE(STRING, report_format), "FORMAT",
	  "write the difference as pprof, folded, html, svg, ...",
	  report_formats + REPORT_FORMATS_ONLY },
	{ "output", 'o', VALUE(FILE, output), "FILE", "write it to FILE (stdout)", NULL },
	OPTION_NO_FOLD,
	OPTION_ALLOCATOR,
	OPTION_FORCE,
	OPTION_ROOT,
	OPTION_TRUST_IMAGES,
	OPTION_NO_CACHE,
	{ .name = NULL },
};

struct diff_job {
	const struct args *args;
	struct ops_symbolize_options symbols;
};

static int run_apart_diff(const void *ctx, struct err *err)
{
	_cleanup_(ops_diff_fini) struct ops_diff diff = { 0 };
	struct diff_job j = *(const struct diff_job *)ctx;
	bool to_file = args_to_file(j.args);
	enum profile_format format;
	struct profile_fold fold;
	_cleanup_(json_close) struct json_object *warnings =
		report_warnings(j.args, j.args->json, &j.symbols);

	if (ops_diff(j.args->words[0], j.args->words[1], &j.symbols, &diff, err))
		return -1;
	if (j.args->report_format) {
		format = profile_format_by_name(j.args->report_format);
		if (ops_diff_find(&diff, NULL, err))
			return -1;
		if (!to_file && profile_format_info(format)->binary && apart_to_terminal()) {
			err_raise(err, ERROR_TO_TERMINAL, .name = j.args->report_format);
			return err_advise(err, FIX_WRITE_TO_FILE);
		}
		return ops_diff_write(&diff, format, to_file ? j.args->output : NULL, j.args->force,
				      STDOUT_FILENO, err);
	}
	if (ops_diff_find(&diff, report_fold(j.args, &fold), err))
		return -1;
	if (!j.args->json)
		return growth_print(j.args, &diff, err);
	return out_json(api_with_warnings(api_diff(j.args->words[0], j.args->words[1], &diff),
					  take_ptr(warnings)),
			err);
}

static int run_diff(const struct args *given, struct err *err)
{
	struct args line = *given, *args = &line;
	struct diff_job job = { .args = args };
	const struct apart apart = {
		.inputs = args->words,
		.n_inputs = args->n_words,
		.outputs = &args->output,
		.n_outputs = args_to_file(args),
		.paged = true,
		.symbols = &job.symbols,
		.run = run_apart_diff,
		.ctx = &job,
	};
	unsigned int several;

	if (report_infer_format(args, err))
		return -1;
	if (args->report_format && args->json)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--json", .what = "-f");
	if (args->report_format &&
	    profile_format_by_name(args->report_format) == PROFILE_FORMAT_NONE)
		return growth_formats(args->report_format, &several, err)
			       ? -1
			       : err_raise(err, ERROR_ONE_FORMAT);
	if (report_symbols(args, &job.symbols, err))
		return -1;
	return apart_run(args, &apart, err);
}

const struct command cmd_diff = {
	.name = "diff",
	.words = "BEFORE AFTER",
	.help = "show what grew from one heap profile to another",
	.options = options_of_diff,
	.min_words = 2,
	.max_words = 2,
	.run = run_diff,
};

/* --- leaks --- */

#define SHOWN 20
#define SUSPECTS 5

static const char *const formats[] = { "text", "json", "html", NULL };
enum { IN_TEXT, IN_JSON, IN_HTML };

static const struct option_def options_of_leaks[] = {
	{ "format", 'f', VALUE(CHOICE, leaks_format), "FORMAT",
	  "text, json (the same as --json) or html (text)", formats },
	{ "output", 'o', VALUE(FILE, output), "FILE", "write the page to FILE.html (stdout)",
	  NULL },
	OPTION_FORCE,
	{ "limit", 0, VALUE(SIZE, limit_bytes), "SIZE",
	  "predict when the profile reaches SIZE (the limit of the process, if it still runs)",
	  NULL },
	OPTION_NO_FOLD,
	OPTION_ALLOCATOR,
	OPTION_ROOT,
	OPTION_TRUST_IMAGES,
	OPTION_NO_CACHE,
	{ .name = NULL },
};

/* Unit of rates: per minute, per hour if that is little, or per profile. */
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

/* "1.9M", "-3.0K". Returns `buf`; 24 bytes always suffice. */
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
		snprintf(buf, PLACE_SIZE, "callees of %s, through %s", call, stacks);
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

/* "; 97% in worker (12 threads), 3% in thread 5, and in 4 more"; "" unless several are known. */
#define THREADS_SIZE (PROFILE_LEAK_THREADS * 128 + 32)
static const char *threads(const struct ops_leaks *l, const struct profile_leak *leak, char *buf)
{
	const struct profile *p = &l->series.all;
	size_t used = 0;

	*buf = '\0';
	if (p->n_threads < 2)
		return buf;
	for (size_t i = 0; i < leak->n_threads; i++) {
		const struct profile_leak_threads *of = &leak->threads[i];
		const struct profile_thread *t = &p->threads[of->thread];
		char name[48], many[32] = "";

		snprintf(name, sizeof(name), "thread %" PRIu64, t->id);
		if (*t->name)
			output_safe(t->name, name, sizeof(name));
		if (of->n > 1)
			snprintf(many, sizeof(many), " (%zu threads)", of->n);
		used += (size_t)snprintf(buf + used, THREADS_SIZE - used, "%s%.0f%% in %s%s",
					 i ? ", " : "; ", floor(100 * of->share), name, many);
	}
	if (leak->n_named > leak->n_threads)
		snprintf(buf + used, THREADS_SIZE - used, ", and in %zu more",
			 leak->n_named - leak->n_threads);
	return buf;
}

/* The printed parts of a leak. */
struct words {
	char rate[48], interval[64], change[64], p[16], place[PLACE_SIZE + THREADS_SIZE + 32];
};

static void put_in_words(const struct ops_leaks *l, const struct profile_leak *leak,
			 struct words *w)
{
	char where[PLACE_SIZE], who[THREADS_SIZE], rate[24], low[24], high[24], first[24], last[24];
	struct per per = per_of(l, leak->rate);

	snprintf(w->rate, sizeof(w->rate), "%s/%s",
		 amount(leak->rate * per.seconds, rate, sizeof(rate)), per.name);
	snprintf(w->interval, sizeof(w->interval), "%s to %s",
		 amount(leak->rate_low * per.seconds, low, sizeof(low)),
		 amount(leak->rate_high * per.seconds, high, sizeof(high)));
	snprintf(w->change, sizeof(w->change), "from %s to %s",
		 amount(leak->first, first, sizeof(first)), amount(leak->last, last, sizeof(last)));
	snprintf(w->p, sizeof(w->p), "%.1g", leak->p);
	snprintf(w->place, sizeof(w->place), "%s%s%s", place(l, leak, where),
		 leak->rest ? ", besides the others shown" : "", threads(l, leak, who));
}

static int print_leak(const struct ops_leaks *l, const struct profile_leak *leak, struct err *err)
{
	struct words w = { .rate = "" };

	put_in_words(l, leak, &w);
	return out_line(err, "%s (%s), %s, p %s: %s", w.rate, w.interval, w.change, w.p, w.place);
}

/* The total growth rate, and when it reaches a limit. */
#define LINE_SIZE 256
static const char *limit_line(const struct ops_leaks *l, char *buf)
{
	static const char *const of[] = {
		[OPS_LIMIT_GIVEN] = "given limit",
		[OPS_LIMIT_CGROUP] = "limit of its control group",
		[OPS_LIMIT_MACHINE] = "memory of the machine",
	};
	char total[24], used[16], limit[16], left[32];
	struct per per = per_of(l, l->rate);
	const char *rate = amount(l->rate * per.seconds, total, sizeof(total));

	if (!isfinite(l->seconds_left))
		snprintf(buf, LINE_SIZE, "total %s/%s", rate, per.name);
	else
		snprintf(buf, LINE_SIZE,
			 "total %s/%s; %s of %s used (%s): the limit is reached in %s", rate,
			 per.name, text_size(l->used_bytes, used, sizeof(used)),
			 text_size(l->limit_bytes, limit, sizeof(limit)), of[l->limit],
			 span(l->seconds_left, left, sizeof(left)));
	return buf;
}

static void warn(const struct args *args, const struct ops_leaks *l)
{
	if (!args->quiet && l->warning.ids[0])
		out_warn(NULL, &l->warning);
}

/* Where the times come from; NULL: the profiles themselves. */
static const char *times_line(const struct ops_leaks *l)
{
	static const char *const words[] = {
		[OPS_TIMES_PROFILES] = NULL,
		[OPS_TIMES_NAMES] = "times are taken from the file names",
		[OPS_TIMES_FILES] = "times are the modification times of the files",
		[OPS_TIMES_ORDER] = "the times are unknown: the order is that of the file names",
	};

	return words[l->times];
}

/* What was found, among how many stacks, and over what time. */
static const char *found_line(const struct ops_leaks *l, char *buf)
{
	const struct profile_leaks *found = &l->found;
	bool timed = l->times != OPS_TIMES_ORDER;
	char time[32], of[128], sure[32] = "";

	span(found->seconds, time, sizeof(time));
	snprintf(of, sizeof(of),
		 "among %zu stack%s and what they have in common, in %zu profiles%s%s",
		 found->n_stacks, found->n_stacks == 1 ? "" : "s", l->series.n,
		 timed ? " over " : "", timed ? time : "");
	if (!l->warning.ids[0])
		snprintf(sure, sizeof(sure), " (%.0f %% confidence)",
			 100 * (1 - SIGNIFICANCE_LEVEL));
	if (!found->n_leaks)
		snprintf(buf, LINE_SIZE, "nothing is certain to leak, %s", of);
	else
		snprintf(buf, LINE_SIZE, "%zu leak%s, %s%s", found->n_leaks,
			 found->n_leaks == 1 ? "" : "s", of, sure);
	return buf;
}

static const char *suspects_line(const struct ops_leaks *l, char *buf)
{
	snprintf(buf, LINE_SIZE,
		 "the fastest growing; to be certain among so many, p must be "
		 "%.1g or less",
		 l->found.p_certain);
	return buf;
}

static size_t shown_of(size_t n, size_t most)
{
	return n < most ? n : most;
}

static int print_leaks(const struct args *args, const struct ops_leaks *l, struct err *err)
{
	const char *times = times_line(l);
	size_t n = shown_of(l->found.n_suspects, SUSPECTS);
	char line[LINE_SIZE];

	warn(args, l);
	if ((times && out_line(err, "%s", times)) ||
	    out_line(err, "%s%s", found_line(l, line), l->found.n_leaks ? ":" : ""))
		return -1;
	if (growth_folded(args, l->n_folded, err))
		return -1;
	if (!l->found.n_leaks) {
		if (n && out_line(err, "%s:", suspects_line(l, line)))
			return -1;
		for (size_t i = 0; i < n; i++) {
			if (print_leak(l, &l->found.suspects[i], err))
				return -1;
		}
		return 0;
	}
	for (size_t i = 0; i < shown_of(l->found.n_leaks, SHOWN); i++) {
		if (print_leak(l, &l->found.leaks[i], err))
			return -1;
	}
	return out_line(err, "%s", limit_line(l, line));
}

/* --- the page --- */

static int write_page(FILE *out, const void *ctx, struct err *err)
{
	const struct ops_leaks *l = ctx;
	size_t sure = shown_of(l->found.n_leaks, SHOWN);
	size_t n = sure + shown_of(l->found.n_suspects, SUSPECTS);
	_cleanup_(cleanup_free) struct words *words = calloc(n + 1, sizeof(*words));
	_cleanup_(cleanup_free) struct series_grower *growers = calloc(n + 1, sizeof(*growers));
	char found[LINE_SIZE], limit[LINE_SIZE], suspects[LINE_SIZE];
	const char *summary[5] = { found_line(l, found) };
	size_t lines = 1;

	if (!words || !growers)
		return err_no_memory(err);
	if (l->found.n_leaks)
		summary[lines++] = limit_line(l, limit);
	if (n > sure)
		summary[lines++] = suspects_line(l, suspects);
	summary[lines] = times_line(l);
	for (size_t i = 0; i < n; i++) {
		const struct profile_leak *leak =
			i < sure ? &l->found.leaks[i] : &l->found.suspects[i - sure];

		put_in_words(l, leak, &words[i]);
		growers[i] = (struct series_grower){
			.leak = leak,
			.certain = i < sure,
			.rate = words[i].rate,
			.interval = words[i].interval,
			.change = words[i].change,
			.p = words[i].p,
			.place = words[i].place,
		};
	}
	return series_page_write(
		&(struct series_page){
			.series = &l->series,
			.found = &l->found,
			.seconds = l->seconds,
			.start = l->start,
			.growers = growers,
			.n_growers = n,
			.summary = summary,
		},
		out, err);
}

struct leaks_job {
	const struct args *args;
	int format;
	struct ops_symbolize_options symbols;
};

static int run_apart_leaks(const void *ctx, struct err *err)
{
	_cleanup_(ops_leaks_fini) struct ops_leaks leaks = { 0 };
	struct leaks_job j = *(const struct leaks_job *)ctx;
	_cleanup_(json_close) struct json_object *warnings =
		report_warnings(j.args, j.format == IN_JSON, &j.symbols);
	struct profile_fold fold;
	const struct ops_leaks_request request = {
		.fold = j.format == IN_HTML ? NULL : report_fold(j.args, &fold),
		.files = j.args->words,
		.n = j.args->n_words,
		.limit_bytes = j.args->limit_bytes,
	};

	if (ops_leaks(&request, &j.symbols, &leaks, err))
		return -1;
	if (j.format == IN_JSON)
		return out_json(api_with_warnings(api_leaks(&leaks), take_ptr(warnings)), err);
	if (j.format == IN_TEXT)
		return print_leaks(j.args, &leaks, err);
	warn(j.args, &leaks);
	if (args_to_file(j.args))
		return ops_write_file(j.args->output, j.args->force, write_page, &leaks, err);
	return write_page(stdout, &leaks, err) || out_flush(err) ? -1 : 0;
}

/* The format given, or that of the suffix of -o. */
static int read_format(const struct args *args, int *format, struct err *err)
{
	bool suffix =
		args_to_file(args) && profile_format_by_path(args->output) == PROFILE_FORMAT_HTML;

	if (args->json && args->leaks_format == IN_HTML)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--json", .what = "-f html");
	*format = args->json ? IN_JSON : args->leaks_format;
	if (suffix && *format == IN_TEXT)
		*format = IN_HTML;
	if (args->output && *format != IN_HTML)
		return err_raise(err, ERROR_OUTPUT_IS_FOR_PAGE);
	return 0;
}

static int run_leaks(const struct args *args, struct err *err)
{
	struct leaks_job job = { .args = args };
	const struct apart apart = {
		.inputs = args->words,
		.n_inputs = args->n_words,
		.outputs = &args->output,
		.n_outputs = args_to_file(args),
		.paged = true,
		.symbols = &job.symbols,
		.run = run_apart_leaks,
		.ctx = &job,
	};

	return read_format(args, &job.format, err) || report_symbols(args, &job.symbols, err) ||
			       apart_run(args, &apart, err)
		       ? -1
		       : 0;
}

const struct command cmd_leaks = {
	.name = "leaks",
	.words = "FILE FILE FILE...",
	.help = "show what keeps growing over several heap profiles",
	.options = options_of_leaks,
	.min_words = PROFILE_LEAKS_MIN,
	.max_words = WORDS_MAX,
	.run = run_leaks,
};

/* --- bundle --- */

static const struct option_def options_of_bundle[] = {
	{ "output", 'o', VALUE(FILE, output), "FILE",
	  "write to FILE (jemalloc.PID.UTC-TIMESTAMP.bundle.tar.gz)", NULL },
	OPTION_TRUST_IMAGES,
	OPTION_NO_CACHE,
	OPTION_MAX_SIZE("a profile", "1G"),
	OPTION_FORCE,
	{ .name = NULL },
};

static int what(const struct args *args, struct ops_options *options,
		struct ops_bundle_request *request, struct err *err)
{
	bool process = args_name_process(args);
	int64_t pid;

	if (!process && !args->n_words)
		return args_no_pid(&cmd_bundle, err);
	if (args->n_words && process)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "a process", .what = "a file");
	if (args_word_is_process(args, 0, &pid)) {
		args_warn_of_file(args, pid);
		request->pid = (pid_t)pid;
		return 0;
	}
	if (args->n_words) {
		request->profile = args->words[0];
		return 0;
	}
	return args_pid(args, options, &request->pid, err);
}

static int run_bundle(const struct args *args, struct err *err)
{
	_cleanup_(ops_bundle_fini) struct ops_bundle bundle = { 0 };
	_cleanup_(json_close) struct json_object *warnings = json_object_new_array();
	bool to_stdout = args->output && !strcmp(args->output, "-");
	struct ops_bundle_request request = {
		.output = to_stdout ? NULL : args->output,
		.stream_fd = to_stdout ? STDOUT_FILENO : -1,
		.force = args->force,
		.trust_images = args->trust_images,
		.no_cache = args->no_cache,
		.on_warning = args->json    ? api_warning_add
			      : args->quiet ? NULL
					    : out_warn,
		.ctx = warnings,
		.explain_text = api_explain_text,
	};
	struct ops_options options;
	char safe[4096], size[16];

	args_options(args, &options);
	if (to_stdout && (args->json || isatty(STDOUT_FILENO))) {
		if (args->json)
			err_raise(err, ERROR_BOTH_WANT_STDOUT);
		else
			err_raise(err, ERROR_TO_TERMINAL, .name = "a bundle");
		return err_advise(err, FIX_WRITE_TO_FILE);
	}
	if (what(args, &options, &request, err) || ops_bundle(&request, &options, &bundle, err))
		return -1;
	out_warning(args, &bundle.warning);
	if (bundle.cost.pid)
		out_cost(args, &bundle.cost);
	if (to_stdout)
		return 0;
	if (args->json)
		return out_json(api_with_warnings(api_bundle(&bundle), json_object_get(warnings)),
				err);
	output_safe(bundle.file, safe, sizeof(safe));
	if (args->quiet)
		return out_line(err, "%s", safe);
	return out_line(err, "%s (%s)", safe, text_size(bundle.bytes, size, sizeof(size)));
}

const struct command cmd_bundle = {
	.name = "bundle",
	.words = "PID|FILE",
	.help = "pack a profile and all it needs elsewhere into one file",
	.options = options_of_bundle,
	.pid_by_option = true,
	.max_words = 1,
	.run = run_bundle,
};
