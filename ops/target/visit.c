// SPDX-License-Identifier: Apache-2.0
#include "ops/target/visit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/signals.h"
#include "base/vec.h"
#include "ops/target/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ENDING_MS 1000 /* how long a thread may take to end after its data was freed */
#define LOST_MAX 2     /* calls that did not return: something is wrong in the target */

/* How long to look for a safe moment of one thread, in each round. */
static const unsigned int rounds_ms[] = { 60, 1000 };

static bool is_one_of(pid_t tid, const pid_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i] == tid)
			return true;
	}
	return false;
}

static int list_threads(const struct session *s, const pid_t *only, size_t n_only,
			struct ops_threads *list, struct err *err)
{
	_cleanup_(cleanup_free) pid_t *tids = NULL;
	struct err why = ERR_INIT;
	struct proc_status status;
	size_t n;

	if (proc_threads(s->proc.pid, &tids, &n, err))
		return -1;
	for (size_t i = 0; i < n_only; i++) {
		if (!is_one_of(only[i], tids, n))
			return err_raise(err, ERROR_NO_THREAD_OF, SESSION_ARGS(s), .tid = only[i]);
	}
	list->v = calloc(n + 1, sizeof(*list->v));
	if (!list->v)
		return err_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		struct ops_thread *t = &list->v[list->n];

		if (only && !is_one_of(tids[i], only, n_only))
			continue;
		if (proc_thread_status(s->proc.pid, tids[i], &status, &why)) {
			if (!why.own)
				continue; /* it has ended */
			*err = why;
			return -1;
		}
		if (jemalloc_is_background(status.comm))
			continue;
		*t = (struct ops_thread){ .tid = tids[i], .active = TRI_UNKNOWN };
		memcpy(t->name, status.comm, sizeof(t->name));
		snprintf(t->reason, sizeof(t->reason), "it was not asked");
		list->n++;
	}
	return 0;
}

static void refuse(struct ops_thread *t, const char *name, int error)
{
	t->state = OPS_THREAD_REFUSED;
	snprintf(t->reason, sizeof(t->reason), "%s: %s", name, strerror(error));
}

/* Is the thread gone, or about to end? */
static bool ends(const struct session *s, pid_t tid)
{
	const struct timespec nap = { .tv_nsec = 10 * 1000000 };
	struct proc_status status;
	struct err ignored;

	for (unsigned int ms = 0; ms < ENDING_MS && session_left_ms(s); ms += 10) {
		if (proc_thread_status(s->proc.pid, tid, &status, &ignored))
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

enum { BYTES_IN, BYTES_OUT, ACTIVE, SET_ACTIVE, CALLS };

static int visit_one(struct session *s, const struct visit *visit, unsigned int search_ms,
		     struct ops_thread *t, struct err *err)
{
	static const bool on = true;
	bool active = false;
	struct call calls[CALLS] = {
		[BYTES_IN] = call_read("thread.allocated", &t->allocated, sizeof(t->allocated)),
		[BYTES_OUT] =
			call_read("thread.deallocated", &t->deallocated, sizeof(t->deallocated)),
		[ACTIVE] = call_read("thread.prof.active", &active, sizeof(active)),
		[SET_ACTIVE] = call_write("thread.prof.active", &on, sizeof(on)),
	};
	size_t from = visit->read_bytes ? BYTES_IN : ACTIVE;
	size_t to = visit->activate ? CALLS : visit->read_active ? SET_ACTIVE : ACTIVE;
	const struct run run = { .calls = calls + from,
				 .n = to - from,
				 .keep_going = true,
				 .tid = t->tid,
				 .search_ms = search_ms };

	if (session_run(s, &run, err))
		return -1;
	t->state = OPS_THREAD_READ;
	t->reason[0] = '\0';
	t->read_us = now_us();
	if (s->last.fresh) {
		/* It never called jemalloc: see prof_tdata_init_impl(), 4.0 to 5.3. */
		t->has_bytes = visit->read_bytes;
		t->allocated = t->deallocated = 0;
		t->active = visit->read_active ? visit->init : TRI_UNKNOWN;
		if (!visit->activate || visit->init == TRI_YES)
			return 0;
		t->state = OPS_THREAD_REFUSED;
		snprintf(t->reason, sizeof(t->reason),
			 "it has not called jemalloc yet: prof.thread_active_init will "
			 "decide");
		return 0;
	}
	t->has_bytes = call_succeeded(&calls[BYTES_IN]) && call_succeeded(&calls[BYTES_OUT]);
	if (call_succeeded(&calls[ACTIVE]))
		t->active = active ? TRI_YES : TRI_NO;
	else if (calls[ACTIVE].made)
		refuse(t, "thread.prof.active", calls[ACTIVE].ret);
	if (call_succeeded(&calls[SET_ACTIVE])) {
		t->changed = t->active != TRI_YES;
		t->active = TRI_YES;
	} else if (calls[SET_ACTIVE].made) {
		/*
		 * In an ending thread whose data jemalloc has freed, there is nothing to set:
		 * EAGAIN, as when there is no memory (prof_tdata_get(), jemalloc 4.0 to 5.3).
		 */
		if (calls[SET_ACTIVE].ret == EAGAIN && ends(s, t->tid))
			return err_raise(err, ERROR_NO_THREAD, .tid = t->tid);
		refuse(t, "thread.prof.active", calls[SET_ACTIVE].ret);
	}
	return 0;
}

/* May the visit go on with other threads after this failure in one? */
static bool is_tolerable(const struct session *s, const struct err *err, unsigned int *lost)
{
	switch (err->code) {
	case ERR_UNSAFE:
	case ERR_BUSY:
	case ERR_FAILED:
		return true;
	case ERR_LOST:
		return proc_alive(&s->proc) && ++*lost < LOST_MAX;
	default:
		return false;
	}
}

static void count(struct ops_threads *list)
{
	list->missed = list->unasked = 0;
	for (size_t i = 0; i < list->n; i++) {
		list->missed += list->v[i].state != OPS_THREAD_READ;
		list->unasked += list->v[i].state == OPS_THREAD_UNASKED;
	}
}

struct round {
	unsigned int search_ms, lost;
	bool stopped; /* by stop_fd */
};

static int visit_round(struct session *s, const struct visit *visit, struct round *r,
		       struct ops_threads *list, struct err *err)
{
	for (size_t i = 0; i < list->n;) {
		struct ops_thread *t = &list->v[i];
		unsigned int left_ms = session_left_ms(s);

		if (s->options->progress)
			s->options->progress(s->options->ctx, i, list->n);
		if (t->state == OPS_THREAD_READ || t->state == OPS_THREAD_REFUSED) {
			i++;
			continue;
		}
		r->stopped = stop_asked(s->options->stop_fd);
		if (!left_ms || r->stopped)
			break;
		if (visit_one(s, visit, r->search_ms < left_ms ? r->search_ms : left_ms, t, err)) {
			if (err->code == ERR_NOPROC && proc_alive(&s->proc)) {
				vec_remove(list->v, list->n, i);
				continue;
			}
			r->stopped = stop_asked(s->options->stop_fd);
			if (r->stopped)
				break;
			if (!is_tolerable(s, err, &r->lost))
				return -1;
			t->state = err->code == ERR_UNSAFE || err->code == ERR_BUSY
					   ? OPS_THREAD_UNREAD
					   : OPS_THREAD_REFUSED;
			err_text(err, t->reason, sizeof(t->reason));
		}
		i++;
	}
	return 0;
}

int visit_threads(struct session *s, const struct visit *visit, const pid_t *only, size_t n_only,
		  struct ops_threads *list, struct err *err)
{
	struct round r = { 0 };
	int ret;

	ret = list_threads(s, only, n_only, list, err);
	list->missed = list->n;
	for (size_t i = 0;
	     i < sizeof(rounds_ms) / sizeof(*rounds_ms) && !ret && !r.stopped && list->missed;
	     i++) {
		r.search_ms = rounds_ms[i];
		ret = visit_round(s, visit, &r, list, err);
		count(list);
	}
	/* The threads that were not reached are unchanged. */
	if (list->unasked) {
		err_raise(&list->warning,
			  r.stopped ? ERROR_THREADS_UNASKED_STOPPED : ERROR_THREADS_UNASKED_LATE,
			  .count = (int64_t)list->unasked, .number = (int64_t)list->n);
		if (!r.stopped)
			err_advise(&list->warning, FIX_LONGER_TIMEOUT);
	}
	if (s->options->progress)
		s->options->progress(s->options->ctx, list->n, list->n);
	return ret;
}
