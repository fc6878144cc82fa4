// SPDX-License-Identifier: Apache-2.0
/* Restoring what killed recordings changed, and what samplings left. */
#include "ops/ops.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/signals.h"
#include "ops/activate.h"
#include "ops/record/journal.h"
#include "ops/record/putback.h"
#include "ops/sample/block.h"
#include "ops/target/open.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DYING_TRIES 20 /* for a process that does not appear to be dying */
#define DYING_NS 10000000

/*
 * The target completes a call that the recording had begun, possibly late: on a slow machine later
 * than usual, in proportion to the time that our own run took.
 */
#define LATE_MS 200
#define LATE_RUNS 4
#define LATE_MAX_MS 5000

static int put_back(const struct journal_state *state, const struct ops_options *options,
		    struct ops_undone *undone, struct err *err)
{
	struct ops_options own = *options;
	_cleanup_(session_close) struct session s = SESSION_INIT;
	struct ops_change change = { 0 };
	struct putback p = { 0 };
	uint64_t began_ms = now_ms(), late_ms;

	if (*state->image)
		own.image = state->image;
	/* ERR_USAGE: the pid is now a thread of another process. */
	if (session_open_proc(&s, state->pid, &own, err)) {
		undone->how = OPS_UNDO_ENDED;
		return err->code == ERR_NOPROC || err->code == ERR_USAGE ? 0 : -1;
	}
	if (!journal_is_of(state, &s.proc)) {
		undone->how = OPS_UNDO_ENDED;
		return 0;
	}
	if (poke_is_wanted(options)) {
		if (state->thread_active_init || state->rate)
			return err_raise(err, ERROR_UNDO_NEEDS_CALL);
		if (state->active && poke_active(&s, false, false, &change, err))
			return -1;
		undone->how = OPS_UNDO_DONE;
		undone->kept = !state->active;
		undone->active = change.before;
		undone->cost = change.cost;
		return 0;
	}
	if (session_may_trace(&s, err) || session_find_jemalloc(&s, err) ||
	    session_open_injector(&s, err) || putback_run(&s, state, &p, err))
		return -1;
	/*
	 * Nothing had to be restored: the recording may have been killed just before its change, or
	 * during it, and then the target itself still makes it.
	 */
	if (state->active && !p.active) {
		late_ms = (now_ms() - began_ms) * LATE_RUNS;
		late_ms = late_ms < LATE_MS	  ? LATE_MS
			  : late_ms < LATE_MAX_MS ? late_ms
						  : LATE_MAX_MS;
		poll(NULL, 0, (int)late_ms);
		if (putback_run(&s, state, &p, err))
			return -1;
	}
	undone->how = OPS_UNDO_DONE;
	undone->kept = !state->active;
	undone->active = p.active;
	undone->thread_active_init = state->thread_active_init;
	undone->rate = state->rate;
	undone->cost = s.cost;
	return 0;
}

/* One recording. ERR_BUSY if it is in progress. */
static int undo_one(pid_t pid, const struct ops_options *options, struct ops_undone *out,
		    struct err *err)
{
	const struct timespec pause = { .tv_nsec = DYING_NS };
	_cleanup_(journal_close) struct journal j = JOURNAL_INIT;
	struct ops_undone undone = { .pid = pid, .how = OPS_UNDO_NOTHING };
	uint64_t end_ms = now_ms() + ops_timeout_ms(options);
	int ret = journal_open(&j, pid, false, err);

	/* A recorder that was just killed may still hold its journal: it gets time to end. */
	for (int i = 0;
	     ret && err->code == ERR_BUSY && now_ms() < end_ms && !stop_asked(options->stop_fd);
	     i++) {
		if (i >= DYING_TRIES && !(j.holder && proc_is_dying(j.holder)))
			break;
		journal_close(&j);
		nanosleep(&pause, NULL);
		ret = journal_open(&j, pid, false, err);
	}
	if (ret)
		return -1;
	memcpy(undone.comm, j.state.comm, sizeof(undone.comm));
	if (j.written && put_back(&j.state, options, &undone, err))
		return -1;
	journal_remove(&j);
	*out = undone;
	return 0;
}

/*
 * The leftovers of a killed sampling remove themselves when the process next allocates: a process
 * that does not allocate still has them.
 */
static int undo_sampling(pid_t pid, const struct ops_options *options, struct ops_undone *out,
			 struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(block_close) struct block b = BLOCK_INIT;

	s.question = block_answer;
	if (session_open_proc(&s, pid, options, err) || session_may_trace(&s, err) ||
	    session_find_jemalloc(&s, err) || block_find(&s, &b, err))
		return err->code == ERR_NOPROC || err->code == ERR_USAGE ||
				       err->code == ERR_NOJEMALLOC
			       ? 0
			       : -1;
	if (!b.base || b.phase != SAMPLER_IN)
		return 0;
	if (b.is_read)
		return err_raise(err, ERROR_ALREADY_SAMPLED, SESSION_ARGS(&s));
	if (session_open_injector(&s, err) || block_remove(&s, &b, true, err))
		return -1;
	memcpy(out->comm, s.proc.status.comm, sizeof(out->comm));
	out->how = OPS_UNDO_DONE;
	out->sampler = true;
	out->cost = s.cost;
	return 0;
}

int ops_undo(pid_t pid, const struct ops_options *options, struct ops_undone *out, struct err *err)
{
	if (undo_one(pid, options, out, err)) {
		if (err->code != ERR_NOPROC)
			return -1;
		*out = (struct ops_undone){ .pid = pid, .how = OPS_UNDO_NOTHING };
	}
	return out->how == OPS_UNDO_NOTHING ? undo_sampling(pid, options, out, err) : 0;
}

int ops_undo_all(const struct ops_options *options, struct ops_undo *out, struct err *err)
{
	_cleanup_(cleanup_free) pid_t *pids = NULL;
	size_t n = 0;

	if (journal_list(&pids, &n, err))
		return -1;
	out->n = 0;
	out->v = calloc(n ? n : 1, sizeof(*out->v));
	if (!out->v)
		return err_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		struct ops_undone *one = &out->v[out->n];

		*one = (struct ops_undone){ .pid = pids[i] };
		if (undo_one(pids[i], options, one, &one->why))
			one->how = one->why.code == ERR_BUSY ? OPS_UNDO_RUNNING : OPS_UNDO_FAILED;
		/* Removed meanwhile by its owner, or not our file: skipped. */
		out->n += one->why.code != ERR_NOPROC && one->why.code != ERR_PERM;
	}
	return 0;
}

void ops_undo_fini(struct ops_undo *undo)
{
	free(undo->v);
	undo->v = NULL;
}
