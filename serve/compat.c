// SPDX-License-Identifier: Apache-2.0
#include "serve/compat.h"

#include "api/run.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "io/memory_file.h"
#include "ops/convert.h"
#include "serve/runs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATH_SIZE 64

/* --- which process --- */

enum wire_refusal compat_resolve(const struct serve_request *request, struct wire_to_broker *ask)
{
	if (!ask->words)
		return WIRE_DONE;
	if (!(request->words & 1u << ask->words))
		return WIRE_NOT_ALLOWED;
	if (!(ask->flags & WIRE_AT_ROOT))
		return WIRE_DONE;
	ask->pid = request->one_pid;
	return ask->pid || request->one_comm ? WIRE_DONE : WIRE_NO_ONE;
}

bool compat_is_open(const struct wire_to_broker *ask)
{
	return ask->flags & WIRE_AT_ROOT && !ask->pid;
}

void compat_find(const struct work *w, struct result *r)
{
	_cleanup_(ops_match_fini) struct ops_matches all = { 0 };
	const struct ops_filter filter = { .comm = w->one_comm };
	struct err ignored;

	if (ops_match(&filter, &all, &ignored) || !all.n) {
		r->refusal = WIRE_NO_ONE;
	} else if (all.n > 1) {
		r->refusal = WIRE_SEVERAL;
	} else {
		r->pid = all.v[0].pid;
		r->start_time = all.v[0].start_time;
	}
}

/* The prefix of paths in answers, which clients then request. */
static const char *place(const struct wire_to_broker *ask, char buf[PATH_SIZE])
{
	buf[0] = '\0';
	if (!(ask->flags & WIRE_AT_ROOT))
		snprintf(buf, PATH_SIZE, "/pid/%d", ask->pid);
	return buf;
}

/* --- its recordings --- */

/*
 * All runs of the process that has this pid now, the newest first: an array. If it has ended, all
 * runs of the pid count.
 */
static int runs_of(const struct work *w, struct json_object **found, struct err *err)
{
	_cleanup_(json_close) struct json_object *all = NULL;
	_cleanup_(proc_close) struct proc p = { 0 };
	const pid_t pid = w->ask->pid;
	struct err ignored;
	uint64_t start_time = 0;

	if (!proc_open_at(&p, pid, w->ask->start_time, &ignored))
		start_time = p.start_time;
	if (store_list(w->runs, pid, &all, err))
		return -1;
	*found = json_object_new_array();
	for (size_t i = 0; i < json_object_array_length(all); i++) {
		struct json_object *doc = json_object_array_get_idx(all, i);

		if (api_run_pid(doc) == pid &&
		    (!start_time || api_run_start_time(doc) == start_time))
			json_object_array_add(*found, json_object_get(doc));
	}
	return 0;
}

/* The running one, and the newest with a profile. */
struct known {
	uint64_t running, done; /* 0: none */
	uint64_t remaining_ms;
	bool has_wanted; /* the wanted run has a profile */
};

static int look(const struct work *w, uint64_t wanted, struct known *known, struct err *err)
{
	_cleanup_(json_close) struct json_object *all = NULL;

	*known = (struct known){ 0 };
	if (runs_of(w, &all, err))
		return -1;
	for (size_t i = 0; i < json_object_array_length(all); i++) {
		struct json_object *doc = json_object_array_get_idx(all, i);
		uint64_t id = json_get_u64(doc, "id");

		if (api_run_is_running(doc)) {
			known->running = id;
			known->remaining_ms = json_get_u64(doc, "remaining_ms");
		} else if (json_get_u64(doc, "profile_bytes")) {
			known->done = known->done ? known->done : id;
			known->has_wanted |= id == wanted;
		}
	}
	return 0;
}

/* --- Mesos --- */

struct json_object *compat_began(const struct wire_to_broker *ask, struct json_object *doc,
				 bool already)
{
	struct json_object *answer = json_object_new_object();
	uint64_t id = json_get_u64(doc, "id");
	char text[512], seconds[24], at[PATH_SIZE];

	place(ask, at);
	snprintf(text, sizeof(text),
		 "%s After the remaining time elapses, download the generated profile at "
		 "'%s/memory-profiler/download/raw?id=%" PRIu64 "'. Visit "
		 "'%s/memory-profiler/stop' to stop collection earlier.",
		 already ? "Heap profiling is already active."
			 : "Successfully started new heap profiling run.",
		 at, id, at);
	snprintf(seconds, sizeof(seconds), "%" PRIu64,
		 (json_get_u64(doc, "remaining_ms") + 500) / 1000);
	json_set_u64(answer, "id", id);
	json_set_text(answer, "message", text);
	json_set_text(answer, "remaining_seconds", seconds);
	return answer;
}

int compat_mesos_start(const struct work *w, struct result *r, struct err *err)
{
	_cleanup_(json_close) struct json_object *doc = NULL;
	uint64_t other = store_find(w->runs, w->ask->pid, 0);

	if (!other) {
		int failed = run_do_record(w, r, err);

		if (failed && !r->began && err->ids[0] == ERROR_RUN_AT_WORK)
			other = store_find(w->runs, w->ask->pid, 0);
		if (!other)
			return failed;
	}
	return store_load(w->runs, other, &doc, err)
		       ? -1
		       : answer_json(w, compat_began(w->ask, doc, true), err);
}

static struct json_object *stopped(const struct wire_to_broker *ask, uint64_t id)
{
	/* Versions of Mesos differ in the name of the third. */
	static const char *const urls[][2] = { { "url_raw_profile", "raw" },
					       { "url_symbolized_profile", "text" },
					       { "url_graph", "graph" },
					       { "url_graph_profile", "graph" } };
	struct json_object *answer = json_object_new_object();
	char text[PATH_SIZE + 80], at[PATH_SIZE];

	snprintf(text, sizeof(text), "%" PRIu64, id);
	json_set_text(answer, "id", text);
	json_set_text(answer, "message",
		      "Successfully stopped memory profiling run. Use one of the provided URLs to "
		      "download results.");
	for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
		snprintf(text, sizeof(text), "%s/memory-profiler/download/%s?id=%" PRIu64,
			 place(ask, at), urls[i][1], id);
		json_set_text(answer, urls[i][0], text);
	}
	return answer;
}

/* The broker has stopped the running one, ask->run, and waited for its end. */
int compat_mesos_stop(const struct work *w, struct result *r, struct err *err)
{
	static const char *const name = "prof.active";
	struct ops_value active = { 0 };
	struct ops_cost cost = { 0 };
	struct known known;

	if (look(w, w->ask->run, &known, err))
		return -1;
	if (known.has_wanted)
		return answer_json(w, stopped(w->ask, w->ask->run), err);
	if (known.running)
		return err_raise(err, ERROR_RUN_GOES_ON, .number = (int64_t)known.running);
	if (ops_get(w->ask->pid, &name, 1, &w->options, &active, &cost, err))
		return -1;
	operate_cost(r, &cost);
	if (!active.ret && active.v.b)
		return err_raise(err, ERROR_ACTIVE_ALREADY, .pid = w->ask->pid, .comm = r->comm);
	return known.done ? answer_json(w, stopped(w->ask, known.done), err)
			  : err_raise(err, ERROR_NO_RUN, .number = 0);
}

int compat_mesos_download(const struct work *w, struct result *r, struct err *err)
{
	_cleanup_(cleanup_close) int folded = -1;
	struct wire_to_broker ask = *w->ask;
	struct work of = *w;
	struct known known;

	if (look(w, ask.run, &known, err))
		return -1;
	if (!known.done || (ask.run && !known.has_wanted))
		return err_raise(err, ERROR_NO_RUN, .number = known.done ? (int64_t)ask.run : 0);
	if (!ask.run && known.running)
		return err_raise(err, ERROR_RUN_GOES_ON, .number = (int64_t)known.running);
	ask.run = ask.run ? ask.run : known.done;
	of.ask = &ask;
	if (ask.format != WIRE_FORMAT_TEXT)
		return run_do_profile(&of, r, err);
	if (memory_file_make(&folded, err))
		return -1;
	ask.format = WIRE_FORMAT_FOLDED;
	of.content = folded;
	if (run_do_profile(&of, r, err))
		return -1;
	snprintf(r->name, sizeof(r->name), "run-%" PRIu64 ".txt", ask.run);
	return compat_table(folded, w->content, err);
}

/*
 * Read these values. The first `always` exist in every jemalloc, the others only if profiling is
 * available; without it, their `ret` is ENOENT.
 */
static int read_values(const struct work *w, struct result *r, const char *const *names, size_t n,
		       size_t always, struct ops_value *values, struct err *err)
{
	struct ops_cost cost = { 0 };
	int failed = ops_get(w->ask->pid, names, n, &w->options, values, &cost, err);

	if (failed && err->code == ERR_NOPROF) {
		for (size_t i = always; i < n; i++)
			values[i] = (struct ops_value){ .name = names[i], .ret = ENOENT };
		failed = ops_get(w->ask->pid, names, always, &w->options, values, &cost, err);
	}
	operate_cost(r, &cost);
	return failed;
}

static void set_value(struct json_object *doc, const char *path, const struct ops_value *value)
{
	char text[128];

	if (!value->ret && value->ctl->type == MALLCTL_STRING) {
		json_set_text(doc, path, value->text);
	} else if (!value->ret) {
		json_set_bool(doc, path, value->v.b);
	} else {
		snprintf(text, sizeof(text), "Couldn't read option %s: %s", value->name,
			 strerror(value->ret > 0 ? value->ret : ENOENT));
		json_set_text(doc, path, text);
	}
}

int compat_mesos_state(const struct work *w, struct result *r, struct err *err)
{
	static const char *const names[] = { "config.malloc_conf", "config.prof", "prof.active" };
	struct ops_value values[3] = { 0 };
	char conf[OPS_TEXT_SIZE] = "";
	struct json_object *doc;
	struct err ignored;
	struct known known;
	uint64_t id;
	int failed;

	if (look(w, 0, &known, err))
		return -1;
	failed = read_values(w, r, names, 3, 2, values, err);
	if (failed && err->code != ERR_NOJEMALLOC)
		return -1;
	id = known.running ? known.running : known.done;
	doc = json_object_new_object();
	json_set_bool(doc, "memory_profiler.jemalloc_detected", !failed);
	json_set_text(doc, "memory_profiler.tmpdir",
		      *w->runs->path ? w->runs->path : "Not yet generated");
	json_set(doc, "memory_profiler.current_run.id", id ? json_object_new_uint64(id) : NULL);
	if (id)
		json_set(doc, "memory_profiler.current_run.remaining_seconds",
			 json_object_new_double((double)known.remaining_ms / 1000));
	if (failed)
		return answer_json(w, doc, err);
	if (proc_getenv(w->ask->pid, "MALLOC_CONF", conf, sizeof(conf), &ignored))
		conf[0] = '\0';
	json_set_text(doc, "jemalloc.malloc_conf.environment", conf);
	set_value(doc, "jemalloc.malloc_conf.build_options", &values[0]);
	set_value(doc, "jemalloc.profiling_enabled", &values[1]);
	set_value(doc, "jemalloc.profiling_active", &values[2]);
	return answer_json(w, doc, err);
}

/* --- libmtev --- */

static const char *word_of(const struct ops_value *value)
{
	return value->ret ? "error" : value->v.b ? "true" : "false";
}

static int print_mtev_state(FILE *out, const void *ctx, struct err *err)
{
	const struct ops_value *values = ctx;

	(void)err;
	fprintf(out, "opt.prof: %s\n", word_of(&values[0]));
	if (!values[0].ret && !values[0].v.b)
		fputs("# needs MALLOC_CONF=\"prof:true\"\n", out);
	fprintf(out, "prof.active: %s\nprof.thread_active_init: %s\n", word_of(&values[1]),
		word_of(&values[2]));
	return 0;
}

int compat_mtev_state(const struct work *w, struct result *r, struct err *err)
{
	static const char *const names[] = { "opt.prof", "prof.active", "prof.thread_active_init" };
	struct ops_value values[3] = { 0 };

	return read_values(w, r, names, 3, 1, values, err)
		       ? -1
		       : memory_file_fill(w->content, print_mtev_state, values, err);
}

/* --- TiKV --- */

/* "1795739021.heap\t\t2026-11-27 01:23:41"; the name is the argument of `heap?name=`. */
static int print_tikv_list(FILE *out, const void *ctx, struct err *err)
{
	struct json_object *all = (struct json_object *)ctx;
	const char *before = "";

	(void)err;
	for (size_t i = 0; i < json_object_array_length(all); i++) {
		struct json_object *doc = json_object_array_get_idx(all, i);
		time_t began = (time_t)(json_get_u64(doc, "began_ms") / 1000);
		char when[32];
		struct tm tm;

		if (!json_get_u64(doc, "profile_bytes"))
			continue;
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", localtime_r(&began, &tm));
		fprintf(out, "%s%" PRIu64 ".heap\t\t%s", before, json_get_u64(doc, "id"), when);
		before = "\n";
	}
	return 0;
}

int compat_tikv_list(const struct work *w, struct result *r, struct err *err)
{
	_cleanup_(json_close) struct json_object *all = NULL;

	(void)r;
	return runs_of(w, &all, err) ? -1 : memory_file_fill(w->content, print_tikv_list, all, err);
}

/* --- shared --- */

int compat_switched(const struct work *w, const struct ops_change *change, struct err *err)
{
	bool on = w->ask->op == WIRE_ACTIVATE;
	const char *text;

	if (w->ask->words == WIRE_MTEV)
		text = on ? "Profiling is activated\n" : "Profiling is deactivated\n";
	else if (on && change->before)
		return err_raise(err, ERROR_ACTIVE_ALREADY, .pid = w->ask->pid,
				 .comm = change->cost.comm);
	else
		text = on		? "activate heap profile success"
		       : change->before ? "deactivate heap profile success"
					: "no heap profile is running";
	return answer_text(w, text, strlen(text), err);
}

static const char *mesos_error(const struct wire_to_broker *ask, const struct err *why, char *buf,
			       size_t size)
{
	if (why->code == ERR_NOJEMALLOC)
		return "The current binary doesn't seem to be linked against jemalloc, or the "
		       "currently used jemalloc library was compiled without support for "
		       "statistics collection.";
	if (why->code == ERR_NOPROF)
		return "The current process seems to be using jemalloc, but profiling couldn't be "
		       "enabled. Make sure that MALLOC_CONF=\"prof:true\" is part of the "
		       "environment.";
	switch (why->ids[0]) {
	case ERROR_ACTIVE_ALREADY:
		return ask->op == WIRE_MESOS_START
			       ? "Heap profiling was started externally."
			       : "Profiling is active, but was not started by libprocess. "
				 "Accessing "
				 "the raw profile through libprocess is currently not supported.";
	case ERROR_RUN_GOES_ON:
		return ask->op != WIRE_MESOS_DOWNLOAD
			       ? NULL
			       : "A profiling run is currently in progress. To download results of "
				 "the "
				 "previous run, please pass an 'id' explicitly.";
	case ERROR_NO_RUN:
		if (why->held.number)
			snprintf(buf, size, "Cannot serve requested id #%" PRIu64 ".", ask->run);
		else
			snprintf(buf, size, "%sNot yet generated.",
				 ask->op == WIRE_MESOS_STOP	   ? ""
				 : ask->format == WIRE_FORMAT_HEAP ? "No heap profile exists: "
								   : "No source profile exists: ");
		return buf;
	default:
		return NULL;
	}
}

const char *compat_error(const struct wire_to_broker *ask, const struct err *why, char *buf,
			 size_t size)
{
	switch (ask->words) {
	case WIRE_MESOS:
		return mesos_error(ask, why, buf, size);
	case WIRE_MTEV:
		return why->code == ERR_NOJEMALLOC
			       ? "libjemalloc is not loaded, cannot heap profile"
			       : NULL;
	case WIRE_TIKV:
		if (why->ids[0] == ERROR_NO_RUN || why->ids[0] == ERROR_NO_RUN_PROFILE) {
			snprintf(buf, size, "heap profile %" PRIu64 ".heap not found", ask->run);
			return buf;
		}
		return why->ids[0] == ERROR_ACTIVE_ALREADY  ? "Already in Heap Profiling"
		       : why->ids[0] == ERROR_PROF_INACTIVE ? "heap profile is not active"
							    : NULL;
	default:
		return NULL;
	}
}
