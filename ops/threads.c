// SPDX-License-Identifier: Apache-2.0
#include "ops/ops.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "ops/target/open.h"
#include "ops/target/run.h"
#include "ops/target/sampling.h"
#include "ops/target/visit.h"

#include <stdlib.h>
#include <string.h>

/* Settings that decide what may be asked in a thread, and what the answers mean. */
struct setting {
	bool config_prof, opt_prof, active, init;
	uint64_t lg_sample;
};

/* In a new thread: the very first mallctl takes all locks of jemalloc. */
static int read_setting(struct session *s, struct setting *set, struct err *err)
{
	struct call calls[] = {
		call_read_string("version", s->version, sizeof(s->version)),
		call_read("config.prof", &set->config_prof, sizeof(bool)),
		call_read("opt.prof", &set->opt_prof, sizeof(bool)),
		call_read("prof.active", &set->active, sizeof(bool)),
		call_read("prof.thread_active_init", &set->init, sizeof(bool)),
		call_read("prof.lg_sample", &set->lg_sample, sizeof(uint64_t)),
	};
	const struct run run = { .calls = calls,
				 .n = sizeof(calls) / sizeof(*calls),
				 .keep_going = true };

	if (session_run(s, &run, err))
		return -1;
	return calls[0].ret ? session_call_failed(s, &calls[0], err) : 0;
}

/* thread.prof.active exists since 4.0. */
static bool has_active(const struct session *s, const struct setting *set)
{
	return set->config_prof && set->opt_prof && !session_older(s, 4, 0, 0);
}

static int may_activate(const struct session *s, const struct setting *set, struct err *err)
{
	if (!set->config_prof)
		return session_no_config_prof(s, err);
	if (!set->opt_prof)
		return session_no_opt_prof(s, err);
	if (!has_active(s, set))
		return err_raise(err, ERROR_THREADS_TOO_OLD, SESSION_ARGS(s),
				 .version = s->version);
	/* While nothing is sampled, `activate` checks that. */
	return set->active ? sampling_has_room(s, set->lg_sample, err) : 0;
}

int ops_threads(pid_t pid, const struct ops_threads_request *request,
		const struct ops_options *options, struct ops_threads *out, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(ops_threads_fini) struct ops_threads list = { 0 };
	struct setting set = { 0 };
	struct visit visit = { .read_bytes = true };
	struct err *warning = &list.warning;

	if (session_open(&s, pid, options, err) || read_setting(&s, &set, err) ||
	    (request->activate && may_activate(&s, &set, err)))
		return -1;
	visit.read_active = has_active(&s, &set);
	visit.activate = request->activate;
	visit.init = set.init ? TRI_YES : TRI_NO;
	if (visit_threads(&s, &visit, request->only, request->n_only, &list, err))
		return -1;
	list.cost = s.cost;
	list.start_time = s.proc.start_time;
	if (!list.unasked) {
		if (!set.config_prof || !set.opt_prof) {
			err_raise(warning, ERROR_NOT_READ_AS_FALSE,
				  .name = set.config_prof ? "opt.prof" : "config.prof");
		} else if (!set.active && request->activate) {
			err_raise(warning, ERROR_NOTHING_IS_SAMPLED);
			err_advise(warning, FIX_ACTIVATE, .pid = s.cost.pid);
		} else if (!set.init) {
			err_raise(warning, ERROR_NEW_THREADS_UNSAMPLED);
			err_advise(warning, FIX_ACTIVATE_SETS_IT, .pid = s.cost.pid);
		}
	}
	if (request->activate && set.active)
		sampling_warn_hidden(&s, warning);
	*out = list;
	list.v = NULL;
	return 0;
}

/* The thread with this id at an earlier look. */
static const struct ops_thread *earlier(const struct ops_threads *before, pid_t tid)
{
	for (size_t i = 0; i < before->n; i++) {
		if (before->v[i].tid == tid)
			return &before->v[i];
	}
	return NULL;
}

static int compare_rates(const void *a, const void *b)
{
	const struct ops_thread *x = a, *y = b;

	if (x->has_rate != y->has_rate)
		return x->has_rate ? -1 : 1;
	if (x->allocated_rate != y->allocated_rate)
		return x->allocated_rate > y->allocated_rate ? -1 : 1;
	return x->tid - y->tid;
}

void ops_threads_rate(struct ops_threads *now, const struct ops_threads *before)
{
	for (size_t i = 0; i < now->n; i++) {
		struct ops_thread *t = &now->v[i];
		const struct ops_thread *was = earlier(before, t->tid);
		bool both = was && was->has_bytes && t->has_bytes;

		/* Ids are reused, and counts never decrease. */
		t->is_new = !was || (both && (was->allocated > t->allocated ||
					      was->deallocated > t->deallocated));
		t->has_rate = both && !t->is_new && was->read_us < t->read_us;
		if (!t->has_rate)
			continue;
		t->allocated_rate = (double)(t->allocated - was->allocated) * 1e6 /
				    (double)(t->read_us - was->read_us);
		t->deallocated_rate = (double)(t->deallocated - was->deallocated) * 1e6 /
				      (double)(t->read_us - was->read_us);
	}
	cost_add(&now->cost, &before->cost);
	vec_sort(now->v, now->n, compare_rates);
}

void ops_threads_fini(struct ops_threads *threads)
{
	free(threads->v);
	*threads = (struct ops_threads){ 0 };
}
