// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/cleanup.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/fixes.h"
#include "cli/out.h"
#include "cli/several.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- check --- */

static const struct option_def options_of_check[] = {
	{ "conf", 0, VALUE(STRING, conf), "STRING",
	  "say what jemalloc would make of this MALLOC_CONF", NULL },
	{ "jemalloc", 0, VALUE(STRING, jemalloc), "VERSION",
	  "with --conf: only this version of jemalloc", NULL },
	{ .name = NULL },
};

static const struct {
	const char *word;
	enum ink ink;
} verdicts[] = {
	[TRI_NO] = { "not ok", INK_RED },
	[TRI_YES] = { "ok", INK_GREEN },
	[TRI_YES + 1] = { "unknown", INK_YELLOW },
	[TRI_YES + 2] = { "warning", INK_YELLOW },
};

static int print_one(const struct args *args, const struct ops_check *c, struct err *err)
{
	size_t v = c->ok == TRI_UNKNOWN			 ? TRI_YES + 1
		   : c->ok == TRI_YES && c->err.fixes[0] ? TRI_YES + 2
							 : (size_t)c->ok;
	char safe[2048], fix[ERR_TEXT_SIZE];

	if (out_line(err, "%s%-7s%s %-23s  %s", out_ink(args, STDOUT_FILENO, verdicts[v].ink),
		     verdicts[v].word, out_ink(args, STDOUT_FILENO, INK_NONE), c->name,
		     output_safe(c->detail, safe, sizeof(safe))))
		return -1;
	if (!c->err.fixes[0])
		return 0;
	return out_line(err, "  fix: %s", fix_text(&c->err, fix, sizeof(fix)));
}

static int print_all(const struct args *args, const struct ops_checks *checks, struct err *err)
{
	const struct err *memory = &checks->memory.advice[0];
	char text[ERR_TEXT_SIZE];
	size_t left_out = 0;

	if (checks->has_memory) {
		if (out_line(err, "%s", err_text(memory, text, sizeof(text))))
			return -1;
		if (memory->fixes[0] &&
		    out_line(err, "  fix: %s", fix_text(memory, text, sizeof(text))))
			return -1;
	}
	for (size_t i = 0; i < checks->n; i++) {
		left_out += !checks->v[i].made;
		if (checks->v[i].made && print_one(args, &checks->v[i], err))
			return -1;
	}
	if (!left_out)
		return 0;
	return out_line(err, "%zu check%s could not be made", left_out, left_out == 1 ? "" : "s");
}

static const struct {
	const char *word;
	enum ink ink;
} levels[] = {
	[CONF_NOTE] = { "note", INK_NONE },
	[CONF_WARNING] = { "warning", INK_YELLOW },
	[CONF_ERROR] = { "error", INK_RED },
};

static int print_conf(const struct args *args, const struct conf_lint *lint, struct err *err)
{
	size_t errors = conf_lint_count(lint, CONF_ERROR);
	size_t warnings = conf_lint_count(lint, CONF_WARNING);
	char from[16], to[16], safe[2048];

	for (size_t i = 0; i < lint->n; i++) {
		const struct conf_finding *f = &lint->v[i];

		if (out_line(err, "%s%-7s%s  %s",
			     out_ink(args, STDOUT_FILENO, levels[f->level].ink),
			     levels[f->level].word, out_ink(args, STDOUT_FILENO, INK_NONE),
			     output_safe(f->text, safe, sizeof(safe))))
			return -1;
		if (f->fix[0] &&
		    out_line(err, "  fix: %s", output_safe(f->fix, safe, sizeof(safe))))
			return -1;
	}
	if (lint->dropped && out_line(err, "and %zu more", lint->dropped))
		return -1;
	for (size_t i = 0; i < lint->n_readings; i++) {
		const struct conf_reading *r = &lint->readings[i];

		conf_version_text(r->from, from, sizeof(from));
		conf_version_text(r->to, to, sizeof(to));
		output_safe(r->text, safe, sizeof(safe));
		if (r->from == r->to ? out_line(err, "jemalloc %s: %s", from, safe)
				     : out_line(err, "jemalloc %s to %s: %s", from, to, safe))
			return -1;
	}
	if (!errors && !warnings)
		return out_line(err, "ok");
	return out_line(err, "%zu error%s, %zu warning%s", errors, errors == 1 ? "" : "s", warnings,
			warnings == 1 ? "" : "s");
}

static int run_conf(const struct args *args, struct err *err)
{
	_cleanup_(cleanup_free) struct ops_conf *conf = NULL;
	struct ops_conf_request request = { .text = args->conf, .version = args->jemalloc };
	struct ops_options options;

	args_options(args, &options);
	if ((args->pid || several_meant(args)) && args_pid(args, &options, &request.pid, err))
		return -1;
	request.start_time = options.start_time;
	conf = calloc(1, sizeof(*conf));
	if (!conf)
		return err_no_memory(err);
	if (ops_conf(&request, conf, err) || (args->json ? out_json(api_conf(args->conf, conf), err)
							 : print_conf(args, &conf->lint, err)))
		return -1;
	return conf_lint_count(&conf->lint, CONF_ERROR) ? err_exit_status(ERR_USAGE) : 0;
}

static int run_check(const struct args *args, struct err *err)
{
	struct ops_options options;
	struct ops_checks checks;
	pid_t pid;

	if (args->conf && args->jemalloc && (args->pid || several_meant(args)))
		return err_raise(err, ERROR_EXCLUSIVE, .name = "PID", .what = "--jemalloc",
				 .text = "a process has its own jemalloc");
	if (args->conf)
		return args->n_words ? err_raise(err, ERROR_WORD_TOO_MANY, .name = "check --conf",
						 .text = args->words[0])
				     : run_conf(args, err);
	if (args->jemalloc)
		return err_raise(err, ERROR_JEMALLOC_WITHOUT_CONF);
	if (!args->pid)
		return args_no_pid(&cmd_check, err);
	args_options(args, &options);
	if (args_pid(args, &options, &pid, err))
		return -1;
	ops_check(pid, &options, &checks);
	out_warning(args, &checks.no_memory);
	out_cost(args, &checks.cost);
	if (args->json) {
		if (out_json(api_check(&checks), err))
			return -1;
		return err_exit_status(ops_checks_code(&checks));
	}
	if (print_all(args, &checks, err) ||
	    out_line(err, "%s", checks.ready ? "ready" : "not ready"))
		return -1;
	return err_exit_status(ops_checks_code(&checks));
}

const struct command cmd_check = {
	.name = "check",
	.words = "PID...",
	.help = "check whether a process can be profiled, and change nothing",
	.options = options_of_check,
	.needs_pid = true,
	.heading = true,
	.pid_optional = true,
	.max_words = WORDS_MAX,
	.run = run_check,
	.run_several = several_each,
};

/* --- explain --- */

#define SIZE_TEXT 24
#define BOUND_TEXT 96

static const char *const part_words[OPS_PARTS] = {
	[OPS_PART_ALLOCATED] = "allocated by the program",
	[OPS_PART_SAMPLING] = "for heap sampling",
	[OPS_PART_TCACHE] = "freed, in thread caches",
	[OPS_PART_FRAGMENTED] = "unused space between allocations",
	[OPS_PART_DIRTY] = "free pages, not purged yet",
	[OPS_PART_MUZZY] = "free pages that the kernel may take",
	[OPS_PART_METADATA] = "jemalloc's bookkeeping",
	[OPS_PART_UNCOUNTED] = "of jemalloc's pages, not resident (-) or more than counted",
	[OPS_PART_ANONYMOUS] = "other private memory",
	[OPS_PART_HEAP] = "heap of another malloc (brk)",
	[OPS_PART_STACKS] = "thread stacks",
	[OPS_PART_DATA] = "variables of the program and its libraries",
	[OPS_PART_FILES] = "files: code, and unmodified data",
	[OPS_PART_SHARED] = "shared memory",
};

static const char *signed_size(int64_t bytes, char *buf, size_t size)
{
	char text[16];

	text_size((uint64_t)llabs(bytes), text, sizeof(text));
	snprintf(buf, size, "%s%s", bytes < 0 ? "-" : "", text);
	return buf;
}

/* The upper bound, if it differs much. */
static const char *at_most(const struct ops_explain *e, char buf[BOUND_TEXT])
{
	uint64_t most = ops_explain_up_to(e);
	char size[16];

	buf[0] = '\0';
	if (most)
		snprintf(buf, BOUND_TEXT, ", up to %s: jemalloc may count pages never used",
			 text_size(most, size, sizeof(size)));
	return buf;
}

/* RSS and its parts, and what is in neither. */
static int print_parts(const struct args *args, const struct ops_explain *e, struct err *err)
{
	const struct {
		uint64_t bytes;
		const char *what;
	} besides[] = {
		{ e->memory.swap, "are in swap" },
		{ e->retained, "of address space are retained by jemalloc, and are not resident" },
	};
	char who[OUT_WHO_SIZE], rss[16], used[16], limit[16], group[80] = "";
	char text[SIZE_TEXT], most[BOUND_TEXT];

	if (e->limited)
		snprintf(group, sizeof(group), "; its control group uses %s of %s",
			 text_size(e->used, used, sizeof(used)),
			 text_size(e->limit, limit, sizeof(limit)));
	if (out_line(err, "%s: %s resident%s", out_who(&e->cost, who, sizeof(who)),
		     text_size(e->memory.rss, rss, sizeof(rss)), group))
		return -1;
	if (out_line(err, "%s%9s %5s  PART%s", out_ink(args, STDOUT_FILENO, INK_BOLD), "RSS", "%",
		     out_ink(args, STDOUT_FILENO, INK_NONE)))
		return -1;
	for (enum ops_part i = 0; i < OPS_PARTS; i++) {
		double share =
			e->memory.rss ? 100.0 * (double)e->parts[i] / (double)e->memory.rss : 0;

		if (e->parts[i] &&
		    out_line(err, "%9s %4.0f%%  %s%s", signed_size(e->parts[i], text, sizeof(text)),
			     share, part_words[i], i == OPS_PART_ANONYMOUS ? at_most(e, most) : ""))
			return -1;
	}
	for (size_t i = 0; i < sizeof(besides) / sizeof(*besides); i++)
		if (besides[i].bytes &&
		    out_line(err, "%9s %s", text_size(besides[i].bytes, text, sizeof(text)),
			     besides[i].what))
			return -1;
	return 0;
}

/* Large enough to list; mappings without a name include jemalloc's, of which there are many. */
static bool tells(const struct ops_explain *e, const struct memory_item *item)
{
	return item->sum.rss >= e->memory.rss / (item->path[0] ? 100 : 10);
}

static int print_mappings(const struct ops_explain *e, struct err *err)
{
	char rss[16], size[16], path[MEMORY_PATH_SIZE * 4], where[32];

	if (e->memory.n_items && tells(e, &e->memory.items[0]) &&
	    out_line(err, "\n%9s %7s  LARGEST MAPPINGS", "RSS", "SIZE"))
		return -1;
	for (size_t i = 0; i < e->memory.n_items; i++) {
		const struct memory_item *item = &e->memory.items[i];

		if (!tells(e, item))
			continue;
		snprintf(where, sizeof(where), "%#" PRIx64, item->start);
		if (out_line(err, "%9s %7s  %s%s", text_size(item->sum.rss, rss, sizeof(rss)),
			     text_size(item->sum.size, size, sizeof(size)),
			     item->path[0] ? output_safe(item->path, path, sizeof(path))
			     : item->kind == MEMORY_STACK ? "a stack at "
							  : "private memory at ",
			     item->path[0] ? "" : where))
			return -1;
	}
	return 0;
}

static int run_explain(const struct args *args, struct err *err)
{
	struct ops_options options;
	struct ops_explain explain;
	char text[ERR_TEXT_SIZE];
	pid_t pid;

	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) || ops_explain(pid, &options, &explain, err))
		return -1;
	out_warning(args, &explain.why_not);
	out_cost(args, &explain.cost);
	if (args->json)
		return out_json(api_explain(&explain), err);
	if (print_parts(args, &explain, err) || print_mappings(&explain, err))
		return -1;
	for (size_t i = 0; i < explain.n_advice; i++) {
		const struct err *advice = &explain.advice[i];

		if (out_line(err, "%s%s", i ? "" : "\n", err_text(advice, text, sizeof(text))))
			return -1;
		if (advice->fixes[0] &&
		    out_line(err, "  fix: %s", fix_text(advice, text, sizeof(text))))
			return -1;
	}
	return 0;
}

const struct command cmd_explain = {
	.name = "explain",
	.words = "PID",
	.help = "show where the memory is, in jemalloc and outside of it",
	.needs_pid = true,
	.run = run_explain,
};

/* --- threads --- */

static const struct option_def options_of_threads[] = {
	{ "activate", 0, VALUE(STRING, activate), "WHICH",
	  "set thread.prof.active: all, or comma-separated thread ids", NULL },
	{ "interval", 0, VALUE(DURATION, interval_ms), "D",
	  "look again after D, and show how fast each allocates, fastest first", NULL },
	{ .name = NULL },
};

#define TIDS_MAX 4096

static void fill_row(const struct ops_thread *t, struct table_row *row)
{
	snprintf(row->cell[0], TABLE_CELL_SIZE, "%d", t->tid);
	output_safe(t->name, row->cell[1], TABLE_CELL_SIZE);
	snprintf(row->cell[2], TABLE_CELL_SIZE, "%s", out_tristate(t->active));
	if (t->has_bytes) {
		text_size(t->allocated, row->cell[3], TABLE_CELL_SIZE);
		text_size(t->deallocated, row->cell[4], TABLE_CELL_SIZE);
	}
	output_safe(t->changed ? "was false" : t->reason, row->cell[5], TABLE_CELL_SIZE);
}

/* "1.2M" per second. */
static void fill_rate(double rate, char cell[TABLE_CELL_SIZE])
{
	text_size((uint64_t)fmin(rate, 1e18), cell, TABLE_CELL_SIZE);
}

static void fill_rates(const struct ops_thread *t, struct table_row *row)
{
	snprintf(row->cell[0], TABLE_CELL_SIZE, "%d", t->tid);
	output_safe(t->name, row->cell[1], TABLE_CELL_SIZE);
	if (t->has_rate) {
		fill_rate(t->allocated_rate, row->cell[2]);
		fill_rate(t->deallocated_rate, row->cell[3]);
	}
	if (t->has_bytes)
		text_size(t->allocated, row->cell[4], TABLE_CELL_SIZE);
	output_safe(!t->has_bytes ? t->reason
		    : t->has_rate ? ""
		    : t->is_new	  ? "began meanwhile"
				  : "not read at first",
		    row->cell[5], TABLE_CELL_SIZE);
}

static int print_table(const struct ops_threads *threads, bool rates, struct err *err)
{
	static const char *const totals[] = { "TID",	   "NAME",	  "PROF.ACTIVE",
					      "ALLOCATED", "DEALLOCATED", "NOTE" };
	static const char *const speeds[] = { "TID",	       "NAME",	    "ALLOCATED/S",
					      "DEALLOCATED/S", "ALLOCATED", "NOTE" };
	_cleanup_(cleanup_free) struct table_row *rows = calloc(threads->n + 1, sizeof(*rows));

	if (!rows)
		return err_no_memory(err);
	for (size_t i = 0; i < threads->n; i++)
		(rates ? fill_rates : fill_row)(&threads->v[i], &rows[i]);
	return table_print(rates ? speeds : totals, sizeof(totals) / sizeof(*totals), rows,
			   threads->n, err);
}

static int fill_request(const struct args *args, pid_t *tids, struct ops_threads_request *request,
			struct err *err)
{
	_cleanup_(cleanup_free) char *copy = NULL;
	char *save = NULL;
	int64_t tid;

	if (args->activate && args->interval_ms)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--activate", .what = "--interval");
	if (!args->activate)
		return 0;
	request->activate = true;
	if (!strcmp(args->activate, "all"))
		return 0;
	request->only = tids;
	copy = strdup(args->activate);
	if (!copy)
		return err_no_memory(err);
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (request->n_only == TIDS_MAX)
			return err_raise(err, ERROR_TOO_MANY_TIDS, .limit = TIDS_MAX);
		if (text_int_parse(word, 1, INT_MAX, &tid, err))
			return err_within(err, ERROR_IN_TIDS);
		tids[request->n_only++] = (pid_t)tid;
	}
	return request->n_only ? 0 : err_raise(err, ERROR_NO_TIDS);
}

/* How long a dying process may take to exit. */
#define DYING_MS 1000

/* Wait for `ms`, the end of the process or `stop_fd`. Returns whether the process has ended. */
static bool ends_in(const struct proc *p, uint64_t ms, int stop_fd)
{
	struct pollfd fds[] = { { .fd = stop_fd, .events = POLLIN },
				{ .fd = p->pidfd, .events = POLLIN } };

	poll(fds, 2, ms < INT_MAX ? (int)ms : INT_MAX);
	return !proc_alive(p);
}

/*
 * Turn `threads` from totals into rates. A signal ends the wait early, and so does the end of the
 * process, which sets *ended and leaves `threads` unchanged. The process may also end during the
 * second look, which can then fail in any way.
 */
static int look_again(const struct args *args, pid_t pid, const struct ops_options *options,
		      struct ops_threads *threads, bool *ended, struct err *err)
{
	const struct ops_threads_request request = { 0 };
	struct ops_options uninterrupted = *options;
	_cleanup_(ops_threads_fini) struct ops_threads now = { 0 };
	_cleanup_(proc_close) struct proc p = { .pidfd = -1 };
	struct err gone;

	uninterrupted.stop_fd = -1;
	uninterrupted.start_time = threads->start_time;
	if (proc_open(&p, pid, &gone))
		*ended = gone.code == ERR_NOPROC;
	else
		*ended = p.start_time != threads->start_time ||
			 ends_in(&p, args->interval_ms, options->stop_fd);
	if (!*ended && ops_threads(pid, &request, &uninterrupted, &now, err)) {
		*ended = err->code == ERR_NOPROC ||
			 (err->code == ERR_LOST && ends_in(&p, DYING_MS, -1));
		if (!*ended)
			return -1;
	}
	if (*ended) {
		err_raise(&threads->warning, ERROR_ENDED_MEANWHILE, .pid = pid);
		return 0;
	}
	ops_threads_rate(&now, threads);
	ops_threads_fini(threads);
	*threads = now;
	now = (struct ops_threads){ 0 };
	return 0;
}

static int run_threads(const struct args *args, struct err *err)
{
	_cleanup_(ops_threads_fini) struct ops_threads threads = { 0 };
	struct ops_threads_request request = { 0 };
	pid_t pid, tids[TIDS_MAX];
	_cleanup_(signals_close) struct signals stop = SIGNALS_INIT;
	struct ops_options options;
	bool ended = false;

	args_options(args, &options);
	if (fill_request(args, tids, &request, err) || args_pid(args, &options, &pid, err) ||
	    signals_open(&stop, err))
		return -1;
	options.stop_fd = stop.fd;
	if (ops_threads(pid, &request, &options, &threads, err) ||
	    (args->interval_ms && look_again(args, pid, &options, &threads, &ended, err)))
		return -1;
	if ((threads.unasked || ended) && !args->json)
		out_warn(NULL, &threads.warning);
	else
		out_warning(args, &threads.warning);
	out_cost(args, &threads.cost);
	if (args->json ? out_json(api_threads(&threads, args->interval_ms != 0), err)
		       : print_table(&threads, args->interval_ms && !ended, err))
		return -1;
	if (ended)
		return err_exit_status(ERR_LOST);
	return threads.unasked || (request.activate && threads.missed) ? err_exit_status(ERR_UNSAFE)
								       : 0;
}

const struct command cmd_threads = {
	.name = "threads",
	.words = "PID",
	.help = "show what jemalloc knows about each thread, and turn on sampling in threads",
	.options = options_of_threads,
	.needs_pid = true,
	.run = run_threads,
};
