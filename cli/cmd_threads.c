// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/cleanup.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/out.h"

#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int parse_tids(const char *text, pid_t *tids, size_t *n, struct err *err)
{
	_cleanup_(cleanup_free) char *copy = strdup(text);
	char *save = NULL;
	int64_t tid;

	if (!copy)
		return err_no_memory(err);
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (*n == TIDS_MAX)
			return err_raise(err, ERROR_TOO_MANY_TIDS, .limit = TIDS_MAX);
		if (text_int_parse(word, 1, INT_MAX, &tid, err))
			return err_within(err, ERROR_IN_TIDS);
		tids[(*n)++] = (pid_t)tid;
	}
	return *n ? 0 : err_raise(err, ERROR_NO_TIDS);
}

static int fill_request(const struct args *args, pid_t *tids, struct ops_threads_request *request,
			struct err *err)
{
	if (args->activate && args->interval_ms)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--activate", .what = "--interval");
	if (!args->activate)
		return 0;
	request->activate = true;
	if (!strcmp(args->activate, "all"))
		return 0;
	request->only = tids;
	return parse_tids(args->activate, tids, &request->n_only, err);
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

static int run(const struct args *args, struct err *err)
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
	.run = run,
};
