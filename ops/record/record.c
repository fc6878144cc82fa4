// SPDX-License-Identifier: Apache-2.0
/*
 * A recording: dump, activate, wait, dump, put everything back.
 *
 * What is about to be changed is in the journal before it is changed, and
 * leaves it after it was put back. In between no session is open: the target
 * may load libraries, or run another program, and each dump looks anew.
 */
#include "ops/ops.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "ops/dump.h"
#include "ops/record/count.h"
#include "ops/record/files.h"
#include "ops/record/journal.h"
#include "ops/record/putback.h"
#include "ops/record/wait.h"
#include "ops/session.h"
#include "ops/switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_MS 250
/* Putting back is tried harder than anything else. */
#define PUTBACK_WAIT_MS 20000
#define PUTBACK_TRIES 3

struct recording {
	const struct ops_record_request *request;
	const struct ops_options *options;
	struct ops_options patient; /* for putting back */
	struct proc proc;	    /* the target, to wait for */
	struct record_signals signals;
	struct journal journal;
	struct record_files files;
	struct ops_record out;
	uint64_t begun_ms;
	struct record_count count;
};

static void add_cost(struct recording *r, const struct session *s)
{
	r->out.cost.pid = s->cost.pid;
	memcpy(r->out.cost.comm, s->cost.comm, sizeof(r->out.cost.comm));
	if (!s->cost.stops)
		return;
	r->out.cost.stops += s->cost.stops;
	r->out.cost.pause_us += s->cost.pause_us;
	r->out.cost.prolonged += s->cost.prolonged;
	r->out.cost.late_us += s->cost.late_us;
	r->out.cost.call_us += s->cost.call_us;
	r->out.cost.tid = s->cost.tid;
	r->out.cost.mode = s->cost.mode;
}

/* Is it the process, and the program, that was found at the beginning? */
static bool is_there(const struct recording *r)
{
	return proc_alive(&r->proc) && journal_is_of(&r->journal.state, &r->proc);
}

static int ended(const struct recording *r, struct err *err)
{
	return err_set(err, ERR_LOST,
		       "process %d has ended, or runs another program, after %llu seconds of the "
		       "recording",
		       r->proc.pid, (unsigned long long)(now_ms() - r->begun_ms) / 1000);
}

/* --- the journal and what it says --- */

static bool anything_changed(const struct recording *r)
{
	return r->journal.state.active || r->journal.state.thread_active_init;
}

static void nothing_changed(struct recording *r)
{
	r->journal.state.active = r->journal.state.thread_active_init = false;
}

/* The rest of an error: what the target is left with, and the way out. */
static int still_on(const struct recording *r, struct err *err)
{
	err_wrap(err, "profiling of process %d is still on", r->proc.pid);
	return err_fix(err, "turn it off: jeprof-ctl undo %d", r->proc.pid);
}

/* Put back what was changed, whatever happened before; `why` is what stopped it. */
static int put_back(struct recording *r, struct err *why)
{
	for (int i = 0; anything_changed(r) && i < PUTBACK_TRIES; i++) {
		_cleanup_(session_close) struct session s = SESSION_INIT;
		struct putback p = { 0 };
		int ret;

		if (!is_there(r))
			break;
		ret = session_open(&s, r->proc.pid, &r->patient, why) ||
		      putback_run(&s, &r->journal.state, &p, why);
		add_cost(r, &s);
		if (!ret)
			nothing_changed(r);
	}
	if (anything_changed(r) && is_there(r))
		return still_on(r, why);
	journal_remove(&r->journal);
	return 0;
}

/* A recording that failed: `err` says why, and nothing of it is to stay in the target. */
static int give_up(struct recording *r, struct err *err)
{
	struct err why = ERR_INIT;

	if (put_back(r, &why))
		*err = why;
	return -1;
}

/* What a recording left that was killed is put back before this one looks at anything. */
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
	if (r->options->image)
		snprintf(state->image, sizeof(state->image), "%s", r->options->image);
	return journal_write(&r->journal, err);
}

/* --- the beginning --- */

static int somebody_elses(const struct session *s, struct err *err)
{
	char who[SESSION_WHO_SIZE];

	err_set(err, ERR_BUSY, "prof.active is true in %s already: somebody else is profiling it",
		session_who(s, who, sizeof(who)));
	return err_fix(err,
		       "take dumps and leave it on with --adopt, or turn it off first: "
		       "jeprof-ctl deactivate %d",
		       s->proc.pid);
}

/* What the target was found with. */
struct found {
	bool active, init;
	bool has_init; /* jemalloc 4.0 and newer */
};

static int dump_first(struct recording *r, struct session *s, struct found *found, int *fd,
		      struct err *err)
{
	static const bool no = false;
	char label[DUMP_LABEL_SIZE];
	struct call calls[2 + RECORD_COUNT_CALLS + 1] = {
		call_read("prof.active", &found->active, sizeof(found->active)),
		call_read("prof.thread_active_init", &found->init, sizeof(found->init)),
	};
	struct call *dump = &calls[2 + RECORD_COUNT_CALLS];

	if (!r->request->adopt)
		calls[0].expect = &no;
	calls[1].flags |= CALL_KEEP_GOING;
	record_count_calls(&r->count, calls + 2);
	*dump = dump_call();
	dump->new = dump_label(r->files.first.path, label);
	if (dump_run(s, calls, 2 + RECORD_COUNT_CALLS + 1, 2 + RECORD_COUNT_CALLS, fd,
		     &r->out.first_bytes, err))
		return calls[0].made && !calls[0].ret && found->active && !r->request->adopt
			       ? somebody_elses(s, err)
			       : -1;
	found->has_init = calls[1].made && !calls[1].ret;
	record_count_take(&r->count, calls + 2);
	return 0;
}

/*
 * Where activation makes jemalloc forget what it sampled before, that is no
 * part of what happened since: the first dump is taken again. In a session of
 * its own, since the one that activated is about single threads now.
 */
static int dump_again(struct recording *r, int *fd, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	struct call call = dump_call();
	char label[DUMP_LABEL_SIZE];
	int again = -1, ret;

	call.new = dump_label(r->files.first.path, label);
	ret = session_open(&s, r->proc.pid, r->options, err) ||
	      dump_run(&s, &call, 1, 0, &again, &r->out.first_bytes, err);
	add_cost(r, &s);
	if (ret)
		return -1;
	cleanup_close(fd);
	*fd = again;
	return 0;
}

static int activate(struct recording *r, struct session *s, const struct found *found,
		    struct err *err)
{
	struct journal_state *state = &r->journal.state;
	struct ops_change change = { 0 };
	bool init_changed = false;

	if (session_may_sample(s, err))
		return -1;
	state->active = true;
	state->thread_active_init = found->has_init && !found->init;
	if (journal_write(&r->journal, err)) {
		nothing_changed(r);
		return -1;
	}
	if (switch_activate(s, &change, &init_changed, err))
		return -1;
	if (change.before) {
		state->active = false;
		return somebody_elses(s, err);
	}
	memcpy(r->out.warning, change.warning, sizeof(r->out.warning));
	return 0;
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
	if (record_signals_come(&r->signals))
		return err_set(err, ERR_FAILED, "interrupted before profiling was turned on");
	r->out.adopted = found.active;
	return found.active ? 0 : activate(r, s, &found, err);
}

static int begin(struct recording *r, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(cleanup_close) int fd = -1;
	int ret;

	if (session_open_proc(&s, r->proc.pid, r->options, err))
		return -1;
	if (s.proc.start_time != r->proc.start_time)
		return ended(r, err);
	ret = begin_in(r, &s, &fd, err);
	add_cost(r, &s);
	if (ret || (r->journal.state.active && switch_forgets(&s) && dump_again(r, &fd, err)))
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

static int dump_next(struct recording *r, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(cleanup_close) int fd = -1;
	_cleanup_(cleanup_free) char *name = record_files_name(&r->files, r->files.n_series + 1);
	struct call calls[RECORD_COUNT_CALLS + 1];
	char label[DUMP_LABEL_SIZE];
	uint64_t bytes = 0;
	int ret;

	if (record_files_room(&r->files, err))
		return -1;
	record_count_calls(&r->count, calls);
	calls[RECORD_COUNT_CALLS] = dump_call();
	calls[RECORD_COUNT_CALLS].new = name ? dump_label(name, label) : NULL;
	ret = open_again(r, &s, r->options, err) ||
	      dump_run(&s, calls, RECORD_COUNT_CALLS + 1, RECORD_COUNT_CALLS, &fd, &bytes, err);
	add_cost(r, &s);
	if (ret && (err->code == ERR_UNSAFE || err->code == ERR_BUSY)) {
		r->out.missed++;
		return 0;
	}
	if (!ret)
		record_count_take(&r->count, calls);
	return ret ? -1 : record_files_next(&r->files, fd, bytes, s.timeout_ms, err);
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

	if (!r->request->progress || proc_refresh(&r->proc, &ignored))
		return;
	p.rss_bytes = r->proc.status.rss_bytes;
	r->request->progress(&p);
}

static void count(struct recording *r)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;

	if (is_there(r))
		record_count_ask(&r->count, &s, r->proc.pid, r->options);
	add_cost(r, &s);
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int wait_for_end(struct recording *r, struct err *err)
{
	uint64_t end = r->begun_ms + r->request->duration_ms, interval = r->request->interval_ms;
	uint64_t next = interval ? r->begun_ms + interval : end;

	for (uint64_t now = r->begun_ms; now < end && !r->out.early; now = now_ms()) {
		uint64_t until =
			at_most(at_most(next, end), r->request->progress ? now + PROGRESS_MS : end);

		show(r);
		switch (record_wait(&r->signals, &r->proc, until)) {
		case RECORD_ENDED:
			return ended(r, err);
		case RECORD_SIGNAL:
			r->out.early = true;
			break;
		case RECORD_TIME:
			if (now_ms() < next || next >= end) {
				if (r->request->progress && record_count_due(&r->count))
					count(r);
				break;
			}
			if (dump_next(r, err))
				return -1;
			while (next <= now_ms())
				next += interval;
			break;
		}
	}
	r->out.duration_ms = now_ms() - r->begun_ms;
	return 0;
}

/* --- the end --- */

/* The last dump and everything that is put back, in one run. */
static int dump_last(struct recording *r, struct session *s, int *fd, struct err *err)
{
	struct journal_state *state = &r->journal.state;
	struct call calls[RECORD_COUNT_CALLS + 1 + PUTBACK_CALLS];
	struct call *dump = calls + RECORD_COUNT_CALLS, *back = dump + 1;
	struct putback p = { 0 };
	struct err why = ERR_INIT;
	size_t n = putback_calls(state, &p, back);
	char label[DUMP_LABEL_SIZE];
	int ret;

	record_count_calls(&r->count, calls);
	*dump = dump_call();
	dump->new = dump_label(r->files.last.path, label);
	dump->flags |= CALL_KEEP_GOING;
	ret = dump_run(s, calls, RECORD_COUNT_CALLS + 1 + n, RECORD_COUNT_CALLS, fd,
		       &r->out.last_bytes, err);
	record_count_take(&r->count, calls);
	if (!putback_check(s, back, n, &why)) {
		if (state->active && !p.active)
			snprintf(r->out.warning, sizeof(r->out.warning), "%s",
				 "somebody turned profiling off meanwhile: what came after is "
				 "missing");
		r->out.active = state->active;
		r->out.thread_active_init = state->thread_active_init;
		nothing_changed(r);
	}
	return ret;
}

static int finish(struct recording *r, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(cleanup_close) int fd = -1;
	int ret;

	if (record_files_room(&r->files, err))
		return -1;
	ret = open_again(r, &s, &r->patient, err) || dump_last(r, &s, &fd, err);
	add_cost(r, &s);
	if (ret)
		return -1;
	r->out.rss_after_bytes = s.proc.status.rss_bytes;
	return record_files_put(&r->files, &r->files.last, fd, r->out.last_bytes, s.timeout_ms,
				err);
}

static int name_files(struct recording *r, struct err *err)
{
	struct ops_record *out = &r->out;
	unsigned int oldest = record_files_oldest(&r->files);

	out->first = strdup(r->files.first.path);
	out->last = strdup(r->files.last.path);
	out->series = calloc(r->files.n_series + 1, sizeof(*out->series));
	if (!out->first || !out->last || !out->series)
		return err_sys(err, ERR_FAILED, ENOMEM, "cannot keep the names of the files");
	for (unsigned int i = oldest; i <= r->files.n_series; i++) {
		out->series[out->n_series] = record_files_name(&r->files, i);
		if (!out->series[out->n_series++])
			return err_sys(err, ERR_FAILED, ENOMEM,
				       "cannot keep the names of the files");
	}
	return 0;
}

static int record(struct recording *r, struct err *err)
{
	if (begin(r, err))
		return give_up(r, err);
	r->begun_ms = now_ms();
	if (wait_for_end(r, err) || finish(r, err)) {
		/* It may have ended in the midst of a dump, which knows of no others. */
		if (!is_there(r))
			record_files_left(&r->files, err);
		return give_up(r, err);
	}
	if (put_back(r, err))
		return -1;
	r->out.allocated_before_bytes = r->count.first;
	r->out.allocated_after_bytes = r->count.last;
	return name_files(r, err);
}

static void recording_close(struct recording *r)
{
	record_files_close(&r->files);
	journal_close(&r->journal);
	record_signals_close(&r->signals);
	proc_close(&r->proc);
	ops_record_fini(&r->out);
}

int ops_record(pid_t pid, const struct ops_record_request *request,
	       const struct ops_options *options, struct ops_record *out, struct err *err)
{
	_cleanup_(recording_close) struct recording r = {
		.request = request,
		.options = options,
		.patient = *options,
		.signals = RECORD_SIGNALS_INIT,
		.journal = JOURNAL_INIT,
		.files = RECORD_FILES_INIT,
	};

	if (r.patient.wait_ms < PUTBACK_WAIT_MS)
		r.patient.wait_ms = PUTBACK_WAIT_MS;
	r.files.keep = request->keep;
	if (record_signals_open(&r.signals, err) || proc_open(&r.proc, pid, err) || record(&r, err))
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
