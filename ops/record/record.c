// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/signals.h"
#include "base/text.h"
#include "io/output.h"
#include "ops/activate.h"
#include "ops/dump.h"
#include "ops/ops.h"
#include "ops/record/journal.h"
#include "ops/record/putback.h"
#include "ops/target/open.h"
#include "ops/target/run.h"
#include "ops/target/sampling.h"
#include "ops/until.h"
#include "process/limit.h"
#include "process/proc.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The files that a recording writes. */

struct record_files {
	struct output first, last; /* STEM.base.heap and STEM.heap */
	char *stem;
	bool force;
	unsigned int keep;     /* how many of the series to keep; 0: all */
	unsigned int n_series; /* how many were written so far; the newest are kept */
	uint64_t largest;      /* size of the largest dump so far, in bytes */
};
#define RECORD_FILES_INIT                                 \
	{                                                 \
		.first = OUTPUT_INIT, .last = OUTPUT_INIT \
	}

/* Allocated memory during a recording: stats.allocated, if jemalloc has statistics. */

#define RECORD_COUNT_EVERY_MS 5000

struct record_count {
	uint64_t first, last; /* bytes; 0: unknown */
	unsigned int n;	      /* how often it was read */
	uint64_t next_ms;     /* of now_ms(): when to read it next, for a progress display */
	bool gave_up;
};

/* --- what is allocated --- */

#define TIMEOUT_MS 2000

/* The result of the session's last run. */
static void record_count_take(struct record_count *c, const struct session *s)
{
	c->next_ms = now_ms() + RECORD_COUNT_EVERY_MS;
	if (!s->allocated)
		return;
	if (!c->n++)
		c->first = s->allocated;
	c->last = s->allocated;
}

static bool record_count_due(const struct record_count *c)
{
	return c->n && !c->gave_up && now_ms() >= c->next_ms;
}

/* --- names of files --- */

#define SUFFIX ".heap"
#define CHECKED 1000 /* how many of a series are checked before it begins */

static char *with_part(const char *stem, const char *part)
{
	char *name = NULL;

	return asprintf(&name, "%s.%s" SUFFIX, stem, part) < 0 ? NULL : name;
}

/*
 * The name of number `i`, from 1, of the series, which the caller frees; NULL when out of memory.
 */
static char *record_files_name(const struct record_files *f, unsigned int i)
{
	char part[16];

	snprintf(part, sizeof(part), "%04u", i);
	return with_part(f->stem, part);
}

/*
 * Check, and open without a name, the first and the last file, and check those of the series: a
 * recording must not fail half-way because a file exists. ERR_OUTPUT. record_files_close() is due
 * even after a failure.
 */
static int record_files_open(struct record_files *f, const struct proc *p,
			     const struct ops_record_request *r, struct err *err)
{
	_cleanup_(cleanup_free) char *last = dump_path(p, r->file);
	_cleanup_(cleanup_free) char *first = NULL;
	uint64_t n = 0;

	f->force = r->force;
	f->stem = last ? strndup(last, text_stem(last, SUFFIX)) : NULL;
	first = f->stem ? with_part(f->stem, "base") : NULL;
	if (!first)
		return err_no_memory(err);
	if (output_open(&f->first, first, r->force, err) ||
	    output_open(&f->last, last, r->force, err))
		return -1;
	/* Default names contain the time, and so are new. */
	if (r->file && !ops_names_folder(r->file) && r->interval_ms)
		n = r->duration_ms ? (r->duration_ms - 1) / r->interval_ms : CHECKED;
	for (unsigned int i = 1; i <= n && i <= CHECKED; i++) {
		_cleanup_(output_close) struct output o = OUTPUT_INIT;
		_cleanup_(cleanup_free) char *name = record_files_name(f, i);

		if (!name)
			return err_no_memory(err);
		if (output_open(&o, name, f->force, err))
			return -1;
	}
	return 0;
}

static void record_files_close(struct record_files *f)
{
	output_close(&f->first);
	output_close(&f->last);
	free(f->stem);
	f->stem = NULL;
}

/* Is there room for another dump, up to twice as large as the largest so far? ERR_OUTPUT. */
static int record_files_room(const struct record_files *f, struct err *err)
{
	return output_room(&f->last, 2 * f->largest, err);
}

/* Write the first, or the last, file: `bytes` of `fd`, before the deadline. */
static int record_files_put(struct record_files *f, struct output *o, int fd, uint64_t bytes,
			    uint64_t deadline_ms, struct err *err)
{
	if (bytes > f->largest)
		f->largest = bytes;
	return output_commit(o, fd, bytes, deadline_ms, err);
}

/* The number of the oldest file of the series that still exists. */
static unsigned int record_files_oldest(const struct record_files *f)
{
	return f->keep && f->n_series > f->keep ? f->n_series - f->keep + 1 : 1;
}

/* The recording failed: list in the error's fix the files it has written. */
static void record_files_left(const struct record_files *f, struct err *err)
{
	unsigned int n = f->n_series - record_files_oldest(f) + 1;
	_cleanup_(cleanup_free) char *newest = record_files_name(f, f->n_series);

	if (!f->largest || !newest)
		return;
	if (!f->n_series)
		err_advise(err, FIX_SEE_FIRST_PROFILE, .file = f->first.path);
	else
		err_advise(err, FIX_SEE_PROFILES, .file = f->first.path, .count = n,
			   .last_file = newest);
}

/* --- recording --- */

/*
 * A recording: dump, activate, wait, dump, restore everything.
 *
 * Each change is journaled before it is made, and removed from the journal after it was undone. In
 * between no session is open: the target may load libraries, or run another program, and each dump
 * looks at it afresh.
 */

#define UNTIL_MS 250 /* interval at which the condition is checked */
/* Restoring is retried harder than anything else. */
#define PUTBACK_WAIT_MS 20000
#define PUTBACK_TRIES 3

struct recording {
	const struct ops_record_request *request;
	int stop_fd;		    /* from the original options */
	struct ops_options options; /* the same, without stop_fd once sampling has begun */
	struct ops_options patient; /* for restoring: with more time to wait */
	struct proc proc;	    /* the target, to wait for */
	struct journal journal;
	struct record_files files;
	struct ops_record out;
	uint64_t begun_ms;
	struct record_count count;
	struct until_seen seen;
};

static void add_cost(struct recording *r, const struct session *s)
{
	r->out.cost.pid = s->cost.pid;
	memcpy(r->out.cost.comm, s->cost.comm, sizeof(r->out.cost.comm));
	if (!s->cost.stops)
		return;
	cost_add(&r->out.cost, &s->cost);
	r->out.cost.tid = s->cost.tid;
	r->out.cost.mode = s->cost.mode;
}

/* Is it still the process, and the program, that was found at the beginning? */
static bool is_there(const struct recording *r)
{
	return proc_alive(&r->proc) && journal_is_of(&r->journal.state, &r->proc);
}

static int ended(const struct recording *r, struct err *err)
{
	return err_raise(err, ERROR_RECORDING_LOST, .pid = r->proc.pid,
			 .number = (int64_t)(now_ms() - r->begun_ms) / 1000);
}

/* --- the journal and its state --- */

static void nothing_changed(struct recording *r)
{
	struct journal_state *state = &r->journal.state;

	state->active = state->thread_active_init = state->rate = false;
}

/* A process with much memory takes its time to exit: until then, it looks as if it were there. */
static bool stays(const struct recording *r)
{
	struct pollfd fd = { .fd = r->proc.pidfd, .events = POLLIN };

	if (proc_is_dying(r->proc.mm_pid))
		poll(&fd, 1, PUTBACK_WAIT_MS);
	return is_there(r);
}

/* Restore what was changed, whatever happened before; on failure `why` is the reason. */
static int put_back(struct recording *r, struct err *why)
{
	for (int i = 0; journal_changed(&r->journal.state) && i < PUTBACK_TRIES; i++) {
		_cleanup_(session_close) struct session s = SESSION_INIT;
		struct putback p = { 0 };
		int ret;

		if (!stays(r))
			break;
		ret = session_open(&s, r->proc.pid, &r->patient, why) ||
		      putback_run(&s, &r->journal.state, &p, why);
		add_cost(r, &s);
		if (!ret)
			nothing_changed(r);
	}
	if (journal_changed(&r->journal.state) && stays(r)) {
		err_within(why, ERROR_STILL_ON, .pid = r->proc.pid);
		return err_advise(why, FIX_UNDO, .pid = r->proc.pid);
	}
	journal_remove(&r->journal);
	return 0;
}

/* A recording that failed: `err` says why. Leaves none of it in the target. */
static int give_up(struct recording *r, struct err *err)
{
	struct err why = ERR_INIT;

	if (put_back(r, &why))
		*err = why;
	return -1;
}

/* Restores what a killed recording left changed, before this one reads anything. */
static int take_over(struct recording *r, struct session *s, struct err *err)
{
	struct journal_state *state = &r->journal.state;
	struct putback p = { 0 };

	if (r->journal.written && journal_is_of(state, &s->proc) && putback_run(s, state, &p, err))
		return -1;
	*state = (struct journal_state){
		.pid = s->proc.pid,
		.start_time = s->proc.start_time,
		.program = proc_program(s->proc.mm_pid),
		.recorder = getpid(),
	};
	memcpy(state->comm, s->proc.status.comm, sizeof(state->comm));
	if (r->options.image)
		snprintf(state->image, sizeof(state->image), "%s", r->options.image);
	return journal_write(&r->journal, err);
}

/* --- the beginning --- */

/* The state in which the target was found. */
struct found {
	bool active, init;
	bool has_init; /* jemalloc 4.0 and newer */
	uint64_t lg_sample;
};

/* Sampling is already on: dumps do no harm, and turning it off is left to what turned it on. */
static void adopt(struct recording *r, const struct session *s, enum tristate opt_active,
		  bool every_thread)
{
	r->out.adopted = true;
	r->out.opt_active = opt_active;
	if (every_thread)
		return;
	err_raise(&r->out.warning, ERROR_THREADS_NOT_SAMPLED, SESSION_ARGS(s));
	err_advise(&r->out.warning, FIX_ACTIVATE_THREADS, .pid = s->proc.pid);
}

static int dump_first(struct recording *r, struct session *s, struct found *found, int *fd,
		      struct err *err)
{
	char label[DUMP_LABEL_SIZE];
	struct call calls[] = {
		call_read("prof.active", &found->active, sizeof(found->active)),
		call_read("prof.thread_active_init", &found->init, sizeof(found->init)),
		call_read("prof.lg_sample", &found->lg_sample, sizeof(found->lg_sample)),
		dump_call(),
	};

	calls[1].flags |= CALL_KEEP_GOING;
	calls[3].new = dump_label(r->files.first.path, label);
	if (dump_run(s, calls, 4, 3, fd, &r->out.first_bytes, err))
		return -1;
	found->has_init = call_succeeded(&calls[1]);
	record_count_take(&r->count, s);
	if (found->active)
		adopt(r, s, s->opt_active, !found->has_init || found->init);
	return 0;
}

/*
 * If activation, or another rate, makes jemalloc discard its earlier samples, these must not count
 * as part of the recording: the first dump is repeated. In a session of its own, with a full
 * --timeout.
 */
static int dump_again(struct recording *r, int *fd, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	struct call call = dump_call();
	char label[DUMP_LABEL_SIZE];
	int again = -1, ret;

	call.new = dump_label(r->files.first.path, label);
	ret = session_open(&s, r->proc.pid, &r->options, err) ||
	      dump_run(&s, &call, 1, 0, &again, &r->out.first_bytes, err);
	add_cost(r, &s);
	if (ret)
		return -1;
	cleanup_close(fd);
	*fd = again;
	return 0;
}

static bool wants_other_rate(const struct recording *r, const struct found *found)
{
	return r->request->lg_sample != OPS_LG_KEEP &&
	       (uint64_t)r->request->lg_sample != found->lg_sample;
}

static int activate(struct recording *r, struct session *s, const struct found *found,
		    struct err *err)
{
	struct journal_state *state = &r->journal.state;
	struct ops_change change = { 0 };
	uint64_t rate = (uint64_t)r->request->lg_sample;
	struct call reset = call_write("prof.reset", &rate, sizeof(rate));
	int lg = wants_other_rate(r, found) ? r->request->lg_sample : OPS_LG_KEEP;
	bool init_changed = false;

	if (sampling_may_begin(s, lg, err))
		return -1;
	state->active = true;
	state->thread_active_init = found->has_init && !found->init;
	state->rate = wants_other_rate(r, found);
	state->lg_sample = found->lg_sample;
	if (journal_write(&r->journal, err)) {
		nothing_changed(r);
		return -1;
	}
	if (state->rate &&
	    session_run(s, &(struct run){ .calls = &reset, .n = 1, .gated = true }, err))
		return -1;
	if (state->rate && !call_succeeded(&reset))
		return session_call_failed(s, &reset, err);
	if (switch_activate(s, &change, &init_changed, err))
		return -1;
	r->out.warning = change.warning;
	if (!change.before)
		sampling_warn_hidden(s, &r->out.warning);
	if (state->rate)
		sampling_warn_finer(s, found->lg_sample, (uint64_t)lg, &r->out.warning);
	if (!change.before)
		return 0;
	/* Someone else turned it on after the first dump: leave it on. */
	state->active = false;
	adopt(r, s, TRI_UNKNOWN, true);
	return journal_write(&r->journal, err);
}

static int begin_in(struct recording *r, struct session *s, int *fd, struct err *err)
{
	struct found found = { 0 };

	if (session_may_trace(s, err) || session_find_jemalloc(s, err) ||
	    dump_check_memory(s, err) || journal_open(&r->journal, s->proc.pid, true, err) ||
	    record_files_open(&r->files, &s->proc, r->request, err) ||
	    session_open_injector(s, err) || take_over(r, s, err) ||
	    dump_first(r, s, &found, fd, err))
		return -1;
	if (stop_asked(r->stop_fd))
		return err_raise(err, ERROR_INTERRUPTED_BEFORE);
	if (!found.active)
		return activate(r, s, &found, err);
	if (r->request->only_off)
		return err_raise(err, ERROR_ACTIVE_ALREADY, SESSION_ARGS(s));
	if (!wants_other_rate(r, &found))
		return 0;
	err_raise(err, ERROR_SAMPLED_AT_ANOTHER_RATE, SESSION_ARGS(s),
		  .number = (int64_t)found.lg_sample);
	return err_advise(err, FIX_KEEP_THE_RATE, .pid = s->proc.pid);
}

static int begin(struct recording *r, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(cleanup_close) int fd = -1;
	bool forgets;
	int ret;

	if (session_open_proc(&s, r->proc.pid, &r->options, err))
		return -1;
	if (s.proc.start_time != r->proc.start_time)
		return ended(r, err);
	if (stop_asked(r->stop_fd)) /* while others had their turn */
		return err_raise(err, ERROR_INTERRUPTED_BEFORE);
	ret = begin_in(r, &s, &fd, err);
	add_cost(r, &s);
	forgets = r->journal.state.rate || (r->journal.state.active && switch_forgets(&s));
	if (ret || (forgets && dump_again(r, &fd, err)))
		return -1;
	r->out.rss_before_bytes = s.proc.status.rss_bytes;
	return record_files_put(&r->files, &r->files.first, fd, r->out.first_bytes, s.timeout_ms,
				err);
}

/* --- the middle --- */

static int open_again(struct recording *r, struct session *s, const struct ops_options *options,
		      struct err *err)
{
	if (!is_there(r))
		return ended(r, err);
	s->recorded_ms = now_ms() - r->begun_ms;
	return session_open(s, r->proc.pid, options, err);
}

/*
 * Write the next file of the series, STEM.NUMBER.heap, and remove the oldest if there are too many.
 */
static int dump_next(struct recording *r, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(cleanup_close) int fd = -1;
	_cleanup_(cleanup_free) char *name = record_files_name(&r->files, r->files.n_series + 1);
	_cleanup_(output_close) struct output o = OUTPUT_INIT;
	struct call call = dump_call();
	char label[DUMP_LABEL_SIZE];
	uint64_t bytes = 0;
	int ret;

	if (record_files_room(&r->files, err))
		return -1;
	call.new = name ? dump_label(name, label) : NULL;
	ret = open_again(r, &s, &r->options, err) || dump_run(&s, &call, 1, 0, &fd, &bytes, err);
	add_cost(r, &s);
	if (ret && (err->code == ERR_UNSAFE || err->code == ERR_BUSY)) {
		r->out.missed++;
		return 0;
	}
	if (ret)
		return -1;
	record_count_take(&r->count, &s);
	if (!name)
		return err_no_memory(err);
	if (output_open(&o, name, r->files.force, err) ||
	    record_files_put(&r->files, &o, fd, bytes, s.timeout_ms, err))
		return -1;
	r->files.n_series++;
	if (r->files.keep && r->files.n_series > r->files.keep) {
		_cleanup_(cleanup_free) char *oldest =
			record_files_name(&r->files, r->files.n_series - r->files.keep);

		if (oldest)
			unlink(oldest);
	}
	return 0;
}

static void show(struct recording *r)
{
	struct err ignored;
	struct ops_record_progress p = {
		.cost = &r->out.cost,
		.elapsed_ms = now_ms() - r->begun_ms,
		.duration_ms = r->request->duration_ms,
		.allocated_bytes = r->count.n > 1 ? r->count.last : 0,
		.allocated_before_bytes = r->count.first,
		.rss_before_bytes = r->out.rss_before_bytes,
	};

	if (proc_refresh(&r->proc, &ignored))
		return;
	p.rss_bytes = r->proc.status.rss_bytes;
	r->request->progress(r->request->ctx, &p);
}

/*
 * Read what is allocated in a session of its own: it is for a progress display, and costs a stop of
 * a thread. A target that cannot be asked at once, such as an overloaded one, is left alone:
 * record_count_due() is false from then on.
 */
static void count(struct recording *r)
{
	struct ops_options brief = r->options;
	_cleanup_(session_close) struct session s = SESSION_INIT;
	unsigned int before = r->count.n;
	struct err ignored;

	brief.wait_ms = 0;
	brief.timeout_ms = TIMEOUT_MS;
	brief.log = NULL;
	if (is_there(r)) {
		if (!session_open(&s, r->proc.pid, &brief, &ignored) && !dump_count(&s, &ignored))
			record_count_take(&r->count, &s);
		r->count.gave_up = r->count.n == before;
	}
	add_cost(r, &s);
}

static bool reached(struct recording *r)
{
	const struct until *u = &r->request->until;
	struct limit l = { 0 };
	bool limited = limit_of_cgroup(r->proc.pid, &l);
	uint64_t used = limit_working_set(&l);
	struct err ignored;

	if (u->of == UNTIL_NEVER || (u->of == UNTIL_CGROUP && !limited))
		return false;
	if (u->of == UNTIL_RSS) {
		if (proc_refresh(&r->proc, &ignored) || (!limited && !limit_of_machine(&l)))
			return false;
		used = r->proc.status.rss_bytes;
	}
	return until_reached(u, &r->seen, now_ms(), used, l.limit);
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int wait_for_end(struct recording *r, struct err *err)
{
	const struct ops_record_request *q = r->request;
	/* When the next action of each kind is due, as now_ms(). */
	uint64_t end = q->duration_ms ? r->begun_ms + q->duration_ms : UINT64_MAX;
	uint64_t dump_at = q->interval_ms ? r->begun_ms + q->interval_ms : UINT64_MAX;
	uint64_t show_at = q->progress ? r->begun_ms + (q->count ? 0 : q->progress_ms) : UINT64_MAX;
	uint64_t look_at = q->until.of == UNTIL_NEVER ? UINT64_MAX : r->begun_ms;

	while (now_ms() < end && !r->out.early && !r->out.reached) {
		struct pollfd fds[] = {
			{ .fd = r->stop_fd, .events = POLLIN },
			{ .fd = r->proc.pidfd, .events = POLLIN },
		};
		uint64_t next, now, left;

		if (now_ms() >= dump_at && dump_at < end) {
			if (dump_next(r, err))
				return -1;
			while (dump_at <= now_ms())
				dump_at += q->interval_ms;
		}
		if (now_ms() >= show_at) {
			if (q->count && record_count_due(&r->count))
				count(r);
			show(r);
			show_at = now_ms() + q->progress_ms;
		}
		if (now_ms() >= look_at) {
			r->out.reached = reached(r);
			look_at = now_ms() + UNTIL_MS;
		}
		if (r->out.reached)
			break;
		next = at_most(at_most(end, dump_at), at_most(show_at, look_at));
		now = now_ms();
		left = next > now ? next - now : 0;
		if (poll(fds, 2, left < INT_MAX ? (int)left : INT_MAX) <= 0)
			continue;
		if (fds[1].revents)
			return ended(r, err);
		r->out.early = true;
	}
	r->out.duration_ms = now_ms() - r->begun_ms;
	return 0;
}

/* --- the end --- */

/* The last dump and everything that restores the target, in one run. */
static int finish(struct recording *r, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(cleanup_close) int fd = -1;
	struct journal_state *state = &r->journal.state;
	struct call calls[1 + PUTBACK_CALLS] = { dump_call() }, *back = calls + 1;
	struct putback p = { 0 };
	struct err why = ERR_INIT;
	size_t n = putback_calls(state, &p, back);
	char label[DUMP_LABEL_SIZE];
	int ret;

	if (record_files_room(&r->files, err))
		return -1;
	if (open_again(r, &s, &r->patient, err)) {
		add_cost(r, &s);
		return -1;
	}
	calls[0].new = dump_label(r->files.last.path, label);
	calls[0].flags |= CALL_KEEP_GOING;
	if (!state->active) {
		back[n] = call_read("prof.active", &p.active, sizeof(p.active));
		back[n++].flags |= CALL_KEEP_GOING;
	}
	ret = dump_run(&s, calls, 1 + n, 0, &fd, &r->out.last_bytes, err);
	add_cost(r, &s);
	record_count_take(&r->count, &s);
	if (!putback_check(&s, back, n, &why)) {
		r->out.stopped = !p.active;
		if (r->out.stopped)
			err_raise(&r->out.warning, ERROR_PROFILING_WAS_DISABLED);
		r->out.active = state->active;
		r->out.thread_active_init = state->thread_active_init;
		r->out.rate = state->rate;
		nothing_changed(r);
	}
	if (ret)
		return -1;
	r->out.rss_after_bytes = s.proc.status.rss_bytes;
	return record_files_put(&r->files, &r->files.last, fd, r->out.last_bytes, s.timeout_ms,
				err);
}

static int record(struct recording *r, struct err *err)
{
	struct ops_record *out = &r->out;

	if (begin(r, err))
		return give_up(r, err);
	r->options.stop_fd = -1;
	r->begun_ms = now_ms();
	if (r->request->began)
		r->request->began(r->request->ctx, &r->out.cost);
	if (wait_for_end(r, err) || finish(r, err)) {
		/* A dump in the middle of which it ended knows of no other files. */
		if (!is_there(r) || (err->code == ERR_LOST && !err->fixes[0]))
			record_files_left(&r->files, err);
		return give_up(r, err);
	}
	if (put_back(r, err))
		return -1;
	out->allocated_before_bytes = r->count.first;
	out->allocated_after_bytes = r->count.last;
	out->first = strdup(r->files.first.path);
	out->last = strdup(r->files.last.path);
	out->series = calloc(r->files.n_series + 1, sizeof(*out->series));
	if (!out->first || !out->last || !out->series)
		return err_no_memory(err);
	for (unsigned int i = record_files_oldest(&r->files); i <= r->files.n_series; i++) {
		out->series[out->n_series] = record_files_name(&r->files, i);
		if (!out->series[out->n_series++])
			return err_no_memory(err);
	}
	return 0;
}

static void recording_close(struct recording *r)
{
	record_files_close(&r->files);
	journal_close(&r->journal);
	proc_close(&r->proc);
	ops_record_fini(&r->out);
}

int ops_record(pid_t pid, const struct ops_record_request *request,
	       const struct ops_options *options, struct ops_record *out, struct err *err)
{
	_cleanup_(recording_close) struct recording r = {
		.request = request,
		.stop_fd = options->stop_fd,
		.options = *options,
		.journal = JOURNAL_INIT,
		.files = RECORD_FILES_INIT,
	};
	struct limit limit;

	r.patient = r.options;
	r.patient.stop_fd = -1;
	if (r.patient.wait_ms < PUTBACK_WAIT_MS)
		r.patient.wait_ms = PUTBACK_WAIT_MS;
	r.files.keep = request->keep;
	if (proc_open(&r.proc, pid, err))
		return -1;
	/* Reports immediately a condition that can never be reached. */
	if (request->until.of == UNTIL_CGROUP && !limit_of_cgroup(r.proc.pid, &limit)) {
		err_raise(err, ERROR_NO_CGROUP_LIMIT, .pid = r.proc.pid);
		return err_advise(err, FIX_UNTIL_RSS);
	}
	if (record(&r, err))
		return -1;
	*out = r.out;
	r.out = (struct ops_record){ 0 };
	return 0;
}

void ops_record_fini(struct ops_record *record)
{
	for (size_t i = 0; i < record->n_series; i++)
		free(record->series[i]);
	free(record->series);
	free(record->first);
	free(record->last);
	*record = (struct ops_record){ 0 };
}
