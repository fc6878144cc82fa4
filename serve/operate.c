// SPDX-License-Identifier: Apache-2.0
#include "serve/operate.h"

#include "api/discover.h"
#include "api/json.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "io/memory_file.h"
#include "ops/dump.h"
#include "serve/broker.h"
#include "serve/compat.h"
#include "serve/runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACKS_MAX 16000  /* for pprof: the limit of Pyroscope (pkg/validation, 2026) */
#define BUSY_WAIT_MS 2000 /* another operation of ours may hold the process */

/* --- answers --- */

static int print_json(FILE *out, const void *ctx, struct err *err)
{
	struct json_object *doc = (struct json_object *)ctx;

	(void)err;
	json_c_set_serialization_double_format("%.15g", JSON_C_OPTION_GLOBAL);
	fprintf(out, "%s\n",
		json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN |
							    JSON_C_TO_STRING_NOSLASHESCAPE));
	return 0;
}

/* Takes `doc`. */
static int write_json(int content, struct json_object *doc, struct err *err)
{
	int ret = memory_file_fill(content, print_json, doc, err);

	json_object_put(doc);
	return ret;
}

int answer_json(const struct work *w, struct json_object *doc, struct err *err)
{
	return write_json(w->content, doc, err);
}

struct text {
	const char *v;
	size_t len;
};

static int print_text(FILE *out, const void *ctx, struct err *err)
{
	const struct text *text = ctx;

	(void)err;
	fwrite(text->v, 1, text->len, out);
	return 0;
}

int answer_text(const struct work *w, const char *text, size_t len, struct err *err)
{
	const struct text all = { text, len };

	return memory_file_fill(w->content, print_text, &all, err);
}

static int print_error(FILE *out, const void *ctx, struct err *err)
{
	char text[ERR_TEXT_SIZE];

	(void)err;
	fprintf(out, "%s\n", api_warning_text(ctx, text, sizeof(text)));
	return 0;
}

static int print_line(FILE *out, const void *ctx, struct err *err)
{
	(void)err;
	fprintf(out, "%s\n", (const char *)ctx);
	return 0;
}

int operate_say(const struct wire_to_broker *ask, int content, const struct err *why,
		struct err *err)
{
	char buf[ERR_TEXT_SIZE];
	const char *words = compat_error(ask, why, buf, sizeof(buf));

	if (ftruncate(content, 0))
		return err_raise_sys(err, ERROR_MEMORY_FILE_FAILED, errno, .what = "empty");
	lseek(content, 0, SEEK_SET);
	if (words)
		return memory_file_fill(content, print_line, words, err);
	if (ask->flags & WIRE_TEXT_ERRORS)
		return memory_file_fill(content, print_error, why, err);
	return write_json(content, api_error(why), err);
}

/* --- cost --- */

void operate_cost(struct result *r, const struct ops_cost *cost)
{
	memcpy(r->comm, cost->comm, sizeof(r->comm));
	r->stops = cost->stops;
	r->pause_us = cost->pause_us;
}

/* --- operations --- */

static int list(const struct work *w, struct ops_list *list, struct err *err)
{
	_cleanup_(proc_close) struct proc p = { 0 };
	const pid_t pid = w->ask->pid;
	const struct ops_list_request request = {
		.stop_fd = w->options.stop_fd,
		.labels = w->ask->op != WIRE_CMDLINE,
		.only = pid ? &pid : NULL,
		.n_only = pid != 0,
	};

	if (pid && proc_open_at(&p, pid, w->options.start_time, err))
		return -1;
	if (ops_list(&request, list, err))
		return -1;
	return !pid || list->n ? 0 : err_raise(err, ERROR_NO_JEMALLOC, .pid = pid);
}

static int do_list(const struct work *w, struct result *r, struct err *err)
{
	_cleanup_(ops_list_fini) struct ops_list all = { 0 };
	_cleanup_(cleanup_free) const struct ops_process **rows = NULL;

	if (list(w, &all, err))
		return -1;
	rows = calloc(all.n + 1, sizeof(*rows));
	if (!rows)
		return err_no_memory(err);
	for (size_t i = 0; i < all.n; i++)
		rows[i] = &all.v[i];
	if (w->ask->pid)
		memcpy(r->comm, all.v[0].comm, sizeof(r->comm));
	return answer_json(w, api_list(rows, all.n), err);
}

struct metrics {
	const struct ops_list *list;
	const struct api_own_metrics *own;
	const char *stats; /* jemalloc's own, or NULL */
	bool openmetrics;
};

/* Our own metrics come last: they end with the EOF marker of OpenMetrics. */
static int print_metrics(FILE *out, const void *ctx, struct err *err)
{
	const struct metrics *m = ctx;

	if (m->stats)
		fputs(m->stats, out);
	return api_metrics(out, m->list, m->own, m->openmetrics, err);
}

static int do_metrics(const struct work *w, struct result *r, struct err *err)
{
	_cleanup_(ops_list_fini) struct ops_list all = { 0 };
	_cleanup_(ops_stats_fini) struct ops_stats stats = { 0 };
	const struct ops_match of = { .pid = w->ask->pid, .start_time = w->ask->start_time };
	struct metrics m = { &all, w->own, NULL, w->ask->format == WIRE_FORMAT_OPENMETRICS };

	if (list(w, &all, err))
		return -1;
	if (w->ask->flags & WIRE_TOUCH) {
		if (ops_stats(&of, 1, m.openmetrics ? OPS_STATS_OPENMETRICS : OPS_STATS_PROM,
			      &w->options, &stats, err) ||
		    ops_stats_failed(&stats, err))
			return -1;
		operate_cost(r, &stats.v->cost);
		m.stats = stats.text;
	}
	return memory_file_fill(w->content, print_metrics, &m, err);
}

static int do_discover(const struct work *w, struct result *r, struct err *err)
{
	_cleanup_(ops_list_fini) struct ops_list all = { 0 };

	(void)r;
	return list(w, &all, err) ? -1
				  : answer_json(w,
						api_discover(&all, w->target, w->node, w->tls,
							     w->ask->flags & WIRE_ALL),
						err);
}

static int do_check(const struct work *w, struct result *r, struct err *err)
{
	_cleanup_(cleanup_free) struct ops_checks *checks = calloc(1, sizeof(*checks));

	if (!checks)
		return err_no_memory(err);
	ops_check(w->ask->pid, &w->options, checks);
	operate_cost(r, &checks->cost);
	return answer_json(w, api_check(checks), err);
}

static int do_status(const struct work *w, struct result *r, struct err *err)
{
	_cleanup_(ops_status_fini) struct ops_status status = { 0 };

	if (ops_status(w->ask->pid, &w->options, &status, err))
		return -1;
	operate_cost(r, &status.cost);
	return answer_json(w, api_status(&status), err);
}

static int do_explain(const struct work *w, struct result *r, struct err *err)
{
	struct ops_explain explain = { 0 };

	if (ops_explain(w->ask->pid, &w->options, &explain, err))
		return -1;
	operate_cost(r, &explain.cost);
	return answer_json(w, api_explain(&explain), err);
}

static int do_stats(const struct work *w, struct result *r, struct err *err)
{
	_cleanup_(ops_stats_fini) struct ops_stats stats = { 0 };
	const struct ops_match of = { .pid = w->ask->pid, .start_time = w->ask->start_time };
	enum ops_stats_format format = w->ask->format == WIRE_FORMAT_TEXT   ? OPS_STATS_TEXT
				       : w->ask->format == WIRE_FORMAT_PROM ? OPS_STATS_PROM
									    : OPS_STATS_JSON;

	if (ops_stats(&of, 1, format, &w->options, &stats, err) || ops_stats_failed(&stats, err))
		return w->ask->words == WIRE_MTEV && err->code == ERR_NOJEMALLOC
			       ? answer_text(w, "{}\n", 3, err)
			       : -1;
	operate_cost(r, &stats.v->cost);
	return answer_text(w, stats.text, stats.len, err);
}

static int do_threads(const struct work *w, struct result *r, struct err *err)
{
	_cleanup_(ops_threads_fini) struct ops_threads threads = { 0 };
	const struct ops_threads_request request = { 0 };

	if (ops_threads(w->ask->pid, &request, &w->options, &threads, err))
		return -1;
	operate_cost(r, &threads.cost);
	return answer_json(w, api_threads(&threads, false), err);
}

const char *operate_profile_format(enum wire_format format)
{
	switch (format) {
	case WIRE_FORMAT_PPROF:
		return "pprof";
	case WIRE_FORMAT_FOLDED:
		return "folded";
	case WIRE_FORMAT_SPEEDSCOPE:
		return "speedscope";
	case WIRE_FORMAT_HTML:
		return "html";
	case WIRE_FORMAT_SVG:
		return "svg";
	case WIRE_FORMAT_JSON:
		return "json";
	case WIRE_FORMAT_TEXT:
	case WIRE_FORMAT_HEAP:
	default:
		return NULL;
	}
}

size_t operate_max_stacks(enum wire_format format)
{
	return format == WIRE_FORMAT_PPROF ? STACKS_MAX : 0;
}

static int do_dump(const struct work *w, struct result *r, struct err *err)
{
	_cleanup_(ops_dump_fini) struct ops_dump dump = { 0 };
	_cleanup_(cleanup_free) char *name = NULL;
	const struct wire_to_broker *ask = w->ask;
	const struct ops_dump_request request = {
		.stream_fd = w->content,
		.format = operate_profile_format(ask->format),
		.only_active = ask->flags & WIRE_IF_ACTIVE,
		.max_stacks = operate_max_stacks(ask->format),
	};
	uint64_t ms = (uint64_t)ask->seconds * 1000;

	if (ms ? ops_dump_between(ask->pid, ms, &request, &w->options, &dump, err)
	       : ops_dump(ask->pid, &request, &w->options, &dump, err))
		return -1;
	operate_cost(r, &dump.cost);
	name = dump_name(ask->pid, r->comm, wire_suffix(ask->format));
	if (!name)
		return err_no_memory(err);
	snprintf(r->name, sizeof(r->name), "%s", name);
	return 0;
}

static int do_symbols(const struct work *w, struct result *r, struct err *err)
{
	_cleanup_(cleanup_free) char *addresses = NULL;
	uint64_t bytes;

	(void)r;
	if (memory_file_size(w->addresses, &bytes, err))
		return -1;
	if (bytes > OPS_ADDRESSES_MAX * sizeof(uint64_t))
		return err_raise(err, ERROR_TOO_MANY_ADDRESSES,
				 .number = (int64_t)(bytes / sizeof(uint64_t)),
				 .limit = OPS_ADDRESSES_MAX);
	if (memory_file_read(w->addresses, bytes, &addresses, err))
		return -1;
	return ops_symbols(w->ask->pid, (const uint64_t *)addresses, bytes / sizeof(uint64_t),
			   &w->options, w->content, err);
}

static int do_cmdline(const struct work *w, struct result *r, struct err *err)
{
	_cleanup_(ops_list_fini) struct ops_list all = { 0 };
	char name[PROC_COMM_SIZE * 4];

	if (list(w, &all, err))
		return -1;
	memcpy(r->comm, all.v[0].comm, sizeof(r->comm));
	output_safe(r->comm, name, sizeof(name));
	/* Not its arguments: they may hold secrets. */
	return answer_text(w, name, strlen(name), err);
}

static int do_switch(const struct work *w, struct result *r, struct err *err)
{
	struct ops_change change;

	if (w->ask->op == WIRE_ACTIVATE
		    ? ops_activate(w->ask->pid, false, &w->options, &change, err)
		    : ops_deactivate(w->ask->pid, &w->options, &change, err))
		return -1;
	operate_cost(r, &change.cost);
	return w->ask->words ? compat_switched(w, &change, err)
			     : answer_json(w, api_change("prof.active", &change), err);
}

static int do_reset(const struct work *w, struct result *r, struct err *err)
{
	int lg = w->ask->flags & WIRE_HAS_LG ? w->ask->lg_sample : OPS_LG_KEEP;
	struct ops_reset reset;

	if (ops_reset(w->ask->pid, lg, &w->options, &reset, err))
		return -1;
	operate_cost(r, &reset.cost);
	return answer_json(w, api_reset(&reset), err);
}

static int (*const operations[WIRE_OPS])(const struct work *w, struct result *r,
					 struct err *err) = {
	[WIRE_LIST] = do_list,
	[WIRE_METRICS] = do_metrics,
	[WIRE_DISCOVER] = do_discover,
	[WIRE_CHECK] = do_check,
	[WIRE_STATUS] = do_status,
	[WIRE_EXPLAIN] = do_explain,
	[WIRE_STATS] = do_stats,
	[WIRE_THREADS] = do_threads,
	[WIRE_DUMP] = do_dump,
	[WIRE_SYMBOLS] = do_symbols,
	[WIRE_CMDLINE] = do_cmdline,
	[WIRE_ACTIVATE] = do_switch,
	[WIRE_DEACTIVATE] = do_switch,
	[WIRE_RESET] = do_reset,
	[WIRE_RECORD] = run_do_record,
	[WIRE_SAMPLE] = run_do_sample,
	[WIRE_RUNS] = run_do_list,
	[WIRE_RUN] = run_do_show,
	[WIRE_RUN_PROFILE] = run_do_profile,
	[WIRE_RUN_STOP] = run_do_show, /* the broker starts it when the run has ended */
	[WIRE_RUN_DELETE] = run_do_delete,
	[WIRE_MESOS_START] = compat_mesos_start,
	[WIRE_MESOS_STOP] = compat_mesos_stop, /* likewise */
	[WIRE_MESOS_STATE] = compat_mesos_state,
	[WIRE_MESOS_DOWNLOAD] = compat_mesos_download,
	[WIRE_MTEV_STATE] = compat_mtev_state,
	[WIRE_TIKV_LIST] = compat_tikv_list,
};

/* --- the process --- */

static enum wire_reason reason_of(const struct err *err)
{
	switch (err->ids[0]) {
	case ERROR_PROF_INACTIVE:
		return WIRE_INACTIVE;
	case ERROR_NO_RUN:
	case ERROR_NO_RUN_PROFILE:
		return WIRE_NO_RUN;
	case ERROR_OF_ANOTHER_PROGRAM:
		return WIRE_OTHER_PROGRAM;
	case ERROR_INTERRUPTED:
	case ERROR_INTERRUPTED_BEFORE:
		return WIRE_ENDING; /* or all its clients have disconnected */
	default:
		return WIRE_ANY;
	}
}

int operate_run(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	_cleanup_(proc_close) struct proc p = { 0 };
	struct work *w = ctx;
	struct result r = { .err = ERR_INIT };
	struct err ignored;

	broker_leave(w->broker, w->process);
	w->options.stop_fd = stop_fd;
	w->options.start_time = w->ask->start_time;
	w->options.wait_ms = BUSY_WAIT_MS;
	if (compat_is_open(w->ask))
		compat_find(w, &r);
	else
		r.failed = operations[w->ask->op](w, &r, &r.err);
	if (r.failed) {
		r.reason = reason_of(&r.err);
		/* The log names the process even if the operation failed. */
		if (!r.comm[0] && w->ask->pid &&
		    !proc_open_at(&p, w->ask->pid, w->ask->start_time, &ignored))
			memcpy(r.comm, p.status.comm, sizeof(r.comm));
		if (r.err.code != ERR_LOST && !r.began)
			err_explain(&r.err);
		if (!r.began && operate_say(w->ask, w->content, &r.err, err))
			return -1;
	}
	pack_bytes(answer, r.comm, sizeof(r.comm));
	pack_u64(answer, r.stops);
	pack_u64(answer, r.pause_us);
	pack_text(answer, r.name);
	pack_u64(answer, r.reason);
	pack_u64(answer, r.began);
	pack_u64(answer, r.unkept);
	pack_u64(answer, r.refusal);
	pack_u64(answer, (uint64_t)r.pid);
	pack_u64(answer, r.start_time);
	pack_err(answer, r.failed ? &r.err : NULL);
	return 0;
}

bool operate_unpack(struct unpack *u, struct result *r)
{
	*r = (struct result){ .err = ERR_INIT };
	unpack_bytes(u, r->comm, sizeof(r->comm));
	r->comm[sizeof(r->comm) - 1] = '\0';
	r->stops = (unsigned int)unpack_max(u, UINT32_MAX);
	r->pause_us = unpack_u64(u);
	unpack_into(u, r->name, sizeof(r->name));
	r->reason = (enum wire_reason)unpack_max(u, WIRE_REASONS - 1);
	r->began = unpack_bool(u);
	r->unkept = unpack_bool(u);
	r->refusal = (enum wire_refusal)unpack_max(u, WIRE_REFUSALS - 1);
	r->pid = (pid_t)unpack_max(u, INT32_MAX);
	r->start_time = unpack_u64(u);
	r->failed = unpack_err(u, &r->err);
	return unpack_done(u);
}
