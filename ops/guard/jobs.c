// SPDX-License-Identifier: Apache-2.0
#include "ops/guard/parts.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/signals.h"
#include "io/memory_file.h"
#include "ops/dump.h"
#include "ops/guard/retain.h"
#include "ops/sample/sample.h"
#include "ops/target/container.h"
#include "process/proc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BETWEEN_MS 1000 /* between two profiles of a process, by any rules */
#define RETRY_MAX_MS 60000
#define TRIES 5 /* for what is reported once, such as an event */

/* --- in a subprocess --- */

struct work {
	const struct guard *guard;
	struct ops_options options;
	pid_t pid;
	bool activate;
	const char *file;
	struct ops_guard_due due; /* for take() */
};

/* The result; ops_cost is packed as is, as it comes from this very program. */
struct done {
	struct ops_cost cost;
	uint64_t bytes, number;
	char *before, *file;
	bool failed;
	struct err warning; /* if `failed`, why */
};

static void pack_done(struct pack *p, const struct ops_cost *cost, uint64_t bytes,
		      const char *before, const struct err *warning)
{
	pack_bytes(p, cost, sizeof(*cost));
	pack_u64(p, bytes);
	pack_text(p, before);
	pack_u64(p, 0);
	pack_text(p, NULL);
	pack_u64(p, false);
	pack_err(p, warning && warning->ids[0] ? warning : NULL);
}

static bool unpack_done_job(struct unpack *u, struct done *d)
{
	unpack_bytes(u, &d->cost, sizeof(d->cost));
	d->cost.comm[sizeof(d->cost.comm) - 1] = '\0';
	d->bytes = unpack_u64(u);
	d->before = unpack_text(u, PATH_MAX);
	d->number = unpack_u64(u);
	d->file = unpack_text(u, PATH_MAX);
	d->failed = unpack_bool(u);
	(void)unpack_err(u, &d->warning);
	return unpack_done(u);
}

static int dump(const struct work *w, struct pack *answer, struct err *err)
{
	_cleanup_(ops_dump_fini) struct ops_dump d = { 0 };
	const struct ops_dump_request request = { .file = w->file, .stream_fd = -1 };

	if (ops_dump(w->pid, &request, &w->options, &d, err))
		return -1;
	pack_done(answer, &d.cost, d.bytes, NULL, &d.warning);
	return 0;
}

static int record(const struct work *w, struct pack *answer, struct err *err)
{
	_cleanup_(ops_record_fini) struct ops_record r = { 0 };
	const struct ops_record_request request = {
		.duration_ms = w->guard->request->action_ms,
		.file = w->file,
		.lg_sample = OPS_LG_KEEP,
	};

	if (ops_record(w->pid, &request, &w->options, &r, err))
		return -1;
	pack_done(answer, &r.cost, r.last_bytes, r.first, &r.warning);
	return 0;
}

static int sample(const struct work *w, struct pack *answer, struct err *err)
{
	_cleanup_(ops_sample_fini) struct ops_sample s = { 0 };
	_cleanup_(cleanup_close) int fd = -1;
	struct ops_sample_request request = {
		.duration_ms = w->guard->request->action_ms,
		.file = w->file,
	};

	if (memory_file_make(&fd, err))
		return -1;
	request.fd = fd;
	if (ops_sample(w->pid, &request, &w->options, &s, err))
		return -1;
	pack_done(answer, &s.cost, s.bytes, NULL, &s.left);
	return 0;
}

static int activate(const struct work *w, struct pack *answer, struct err *err)
{
	struct ops_change change = { 0 };

	if (ops_activate(w->pid, false, &w->options, &change, err))
		return -1;
	pack_done(answer, &change.cost, 0, NULL, &change.warning);
	return 0;
}

static int take(const struct work *w, struct pack *answer, struct err *err)
{
	const struct ops_guard_request *r = w->guard->request;
	struct ops_guard_taken t = { .warning = ERR_INIT };
	bool failed = r->take(r->ctx, &w->due, &w->options, &t, err);

	if (failed && !t.number)
		return -1;
	if (failed)
		t.warning = *err;
	pack_bytes(answer, &t.cost, sizeof(t.cost));
	pack_u64(answer, t.bytes);
	pack_text(answer, NULL);
	pack_u64(answer, t.number);
	pack_text(answer, t.file[0] ? t.file : NULL);
	pack_u64(answer, failed);
	pack_err(answer, t.warning.ids[0] ? &t.warning : NULL);
	return 0;
}

static int do_work(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	struct work *w = ctx;

	w->options.stop_fd = stop_fd;
	if (w->activate)
		return activate(w, answer, err);
	if (w->guard->request->take)
		return take(w, answer, err);
	switch (w->guard->request->action) {
	case OPS_GUARD_RECORD:
		return record(w, answer, err);
	case OPS_GUARD_SAMPLE:
		return sample(w, answer, err);
	case OPS_GUARD_DUMP:
	default:
		return dump(w, answer, err);
	}
}

/* --- starting them --- */

static int start(struct guard *g, struct job *job, struct member *m, struct err *err)
{
	/* Without it a profile holds little; but a due one does not wait for it a second time. */
	bool activates = m->activate && (!m->due.rule || !m->retry.failures);
	struct work work = {
		.guard = g,
		.options = g->options,
		.pid = m->is.pid,
		.activate = activates,
	};

	*job = (struct job){ .process = SUBPROCESS_INIT, .activates = activates };
	if (!activates)
		job->due = m->due;
	if (!activates && !g->request->take) {
		job->file = dump_path_of_guard(m->is.pid, m->is.comm, g->request->folder,
					       guard_rule_word(m->due.rule));
		if (!job->file)
			return err_no_memory(err);
	}
	work.file = job->file;
	work.due = (struct ops_guard_due){ m->is.pid,	 m->is.start_time, job->due.rule,
					   job->due.rss, job->due.level,   job->due.limit };
	work.options.start_time = m->is.start_time;
	work.options.turn_fd = g->turn;
	if (g->request->max_bytes &&
	    (!work.options.max_bytes || work.options.max_bytes > g->request->max_bytes))
		work.options.max_bytes = g->request->max_bytes;
	return subprocess_start(&job->process, do_work, &work, err);
}

/* The one that has waited longest; regular profiles come last. */
static struct member *next_due(const struct guard *g)
{
	struct member *best = NULL;
	uint64_t now = now_ms();

	for (size_t i = 0; i < g->n; i++) {
		struct member *m = g->v[i];
		bool regular = m->due.rule && m->due.rule->kind == GUARD_EVERY;

		if (m->gone || m->given_up || m->busy || now < m->retry.at_ms ||
		    (!m->due.rule && !m->activate))
			continue;
		if (!best || (best->due.rule && best->due.rule->kind == GUARD_EVERY && !regular) ||
		    (best->due.rule && m->due.rule && m->due.since_ms < best->due.since_ms &&
		     regular == (best->due.rule->kind == GUARD_EVERY)))
			best = m;
	}
	return best;
}

static void caution(const struct guard *g, const struct member *m, enum error id,
		    const struct err *why)
{
	struct err warning = *why;

	if (id && why->ids[0])
		err_within(&warning, id, .pid = m->is.pid, .comm = m->is.comm);
	else if (id)
		err_raise(&warning, id, .pid = m->is.pid, .comm = m->is.comm);
	g->request->on_warning(g->request->ctx, &warning);
}

void jobs_start(struct guard *g)
{
	for (;;) {
		uint64_t coming = g->sum.profiles;
		struct err why = ERR_INIT;
		struct job *job = NULL;
		struct member *m;

		for (size_t i = 0; i < JOBS_MAX; i++) {
			coming += g->jobs[i].member && !g->jobs[i].activates;
			if (!job && !g->jobs[i].member)
				job = &g->jobs[i];
		}
		/* As many profiles as were requested, and no more. */
		if ((g->request->count && coming >= g->request->count) || !job)
			return;
		m = next_due(g);
		if (!m)
			return;
		if (start(g, job, m, &why)) {
			free(job->file);
			*job = (struct job){ .process = SUBPROCESS_INIT };
			backoff_fail(&m->retry, BACKOFF_MIN_MS, RETRY_MAX_MS, now_ms());
			caution(g, m, ERROR_IN_PROCESS, &why);
			continue;
		}
		job->member = m;
		m->busy = true;
		if (job->activates)
			m->activate = false;
		else
			m->due.rule = NULL;
	}
}

/* --- their end --- */

static void run_hook(struct guard *g, const struct ops_guard_event *e)
{
	char text[ERR_TEXT_SIZE];
	struct hook_env env;

	if (!hooks_wanted(&g->hooks))
		return;
	hook_env_begin(&env);
	hook_set_time(&env, "TIME", &e->time);
	hook_set_number(&env, "PID", (uint64_t)e->pid);
	hook_set(&env, "COMM", e->comm);
	hook_set(&env, "RULE", e->rule->text);
	hook_set_number(&env, "RSS_BYTES", e->rss_bytes);
	hook_set_number(&env, "LEVEL_BYTES", e->level);
	hook_set_number(&env, "LIMIT_BYTES", e->limit);
	hook_set(&env, "OK", e->ok ? "true" : "false");
	hook_set(&env, "ERROR", e->ok ? NULL : err_text(&e->err, text, sizeof(text)));
	hook_set(&env, "FILE", e->file);
	hook_set(&env, "BEFORE", e->before);
	hook_set_number(&env, "BYTES", e->bytes);
	hook_set(&env, "CGROUP", e->cgroup);
	hook_set(&env, "CONTAINER", e->container);
	hook_run(&g->hooks, &env);
}

/* ERR_LOST may be reported for a process that is alive, too. */
static bool has_ended(const struct member *m)
{
	_cleanup_(proc_close) struct proc p = { 0 };
	struct err ended = ERR_INIT;

	return proc_open_at(&p, m->is.pid, m->is.start_time, &ended) && ended.code == ERR_NOPROC;
}

/* A retry would not help. */
static bool is_final(const struct err *why)
{
	return why->code == ERR_NOJEMALLOC || why->code == ERR_NOPROF || why->code == ERR_PERM;
}

static int tell(struct guard *g, const struct job *job, const struct member *m,
		const struct done *done, bool ok, const struct err *why, struct err *err)
{
	char text[PROC_CGROUP_SIZE], cgroup[PROC_CGROUP_SIZE], container[64];
	struct ops_guard_event e = {
		.time = job->due.time,
		.pid = m->is.pid,
		.rule = job->due.rule,
		.rss_bytes = job->due.rss,
		.level = job->due.level,
		.limit = job->due.limit,
		.group = (job->due.rule->kind == GUARD_PSI ? m->own : m->limit)->shown,
		.cgroup = cgroup,
		.container = container,
		.ok = ok,
		.err = ok ? done->warning : *why,
		.file = !ok	    ? NULL
			: job->file ? job->file
				    : done->file,
		.number = done->number,
		.before = done->before,
		.bytes = done->bytes,
		.took_ms = now_ms() - job->due.since_ms,
		.cost = done->cost,
	};

	memcpy(e.comm, m->is.comm, sizeof(e.comm));
	proc_cgroup(m->is.pid, text, sizeof(text));
	cgroup_pick(text, cgroup, sizeof(cgroup));
	container_parse(text, container, sizeof(container));
	g->sum.profiles += ok;
	g->sum.failed += !ok;
	if (g->request->event(g->request->ctx, &e, err))
		return -1;
	run_hook(g, &e);
	return 0;
}

/* A level that still holds fires again; a single event is kept for a while. */
static void fire_again(const struct guard *g, struct member *m, const struct due *due)
{
	size_t i = (size_t)(due->rule - g->request->rules);

	if (due->rule->kind == GUARD_EVERY)
		return;
	if (due->rule->kind == GUARD_LEVEL)
		guard_fires_again(due->rule->level.of == UNTIL_CGROUP ? &m->limit->memory[i]
								      : &m->memory[i],
				  now_ms(), 0);
	else if (m->retry.failures > TRIES)
		backoff_reset(&m->retry); /* given up: the next event is reported again */
	else if (!m->due.rule)
		m->due = *due;
}

/* Before the profile is reported, the folder must be within its limits. */
static void retain(const struct guard *g, const struct job *job, const struct member *m)
{
	const struct ops_guard_request *r = g->request;
	struct err why = ERR_INIT;

	if (r->take)
		return;
	if (guard_retain(r->folder, r->keep, r->max_bytes, strrchr(job->file, '/') + 1, &why))
		caution(g, m, ERROR_NONE, &why);
}

static int take_profile(struct guard *g, const struct job *job, struct member *m,
			const struct done *done, bool ok, const struct err *why, struct err *err)
{
	/* A recording that failed may have left the profile of its beginning. */
	if (ok || g->request->action == OPS_GUARD_RECORD)
		retain(g, job, m);
	if (ok) {
		backoff_reset(&m->retry);
		m->retry.at_ms = now_ms() + BETWEEN_MS;
		return tell(g, job, m, done, ok, why, err);
	}
	if (is_final(why) || has_ended(m)) {
		m->given_up = true;
		m->gone = m->named || has_ended(m);
		if (job->due.rule->kind == GUARD_LEVEL) /* in a group, another process is next */
			fire_again(g, m, &job->due);
		return tell(g, job, m, done, ok, why, err);
	}
	/* Repeated failures are reported once; ERR_BUSY is usually over in a moment. */
	if (m->retry.failures == (why->code == ERR_BUSY) && tell(g, job, m, done, ok, why, err))
		return -1;
	backoff_fail(&m->retry, BACKOFF_MIN_MS, RETRY_MAX_MS, now_ms());
	fire_again(g, m, &job->due);
	return 0;
}

int job_take(struct guard *g, struct job *job, struct err *err)
{
	_cleanup_(cleanup_free) char *bytes = NULL;
	struct member *m = job->member;
	struct done done = { 0 };
	struct err why = ERR_INIT;
	struct unpack answer;
	bool ok;
	int ret = 0;

	ok = !subprocess_take(&job->process, &bytes, &answer, &why);
	if (ok && !unpack_done_job(&answer, &done)) {
		err_raise(&why, ERROR_CHILD_MALFORMED, .what = "take a profile");
		ok = false;
	}
	if (ok && done.failed) {
		why = done.warning;
		ok = false;
	}
	m->busy = false;
	if (!job->activates) {
		ret = take_profile(g, job, m, &done, ok, &why, err);
	} else {
		if (ok || !m->retry.failures)
			caution(g, m, ok ? ERROR_GUARD_ACTIVATED : ERROR_NOT_ACTIVATED, &why);
		if (done.warning.ids[0])
			caution(g, m, ERROR_IN_PROCESS, &done.warning);
		if (ok) {
			backoff_reset(&m->retry);
		} else {
			m->activate = !is_final(&why);
			backoff_fail(&m->retry, BACKOFF_MIN_MS, RETRY_MAX_MS, now_ms());
		}
	}
	free(done.before);
	free(done.file);
	free(job->file);
	*job = (struct job){ .process = SUBPROCESS_INIT };
	return ret;
}

int jobs_end(struct guard *g, struct err *err)
{
	int ret = 0;

	for (size_t i = 0; i < JOBS_MAX; i++) {
		if (g->jobs[i].member)
			subprocess_stop(&g->jobs[i].process);
	}
	for (size_t i = 0; i < JOBS_MAX; i++) {
		if (g->jobs[i].member && job_take(g, &g->jobs[i], err))
			ret = -1;
	}
	return ret;
}
