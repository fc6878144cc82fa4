// SPDX-License-Identifier: Apache-2.0
#include "ops/activate.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "injector/injector.h"
#include "ops/ops.h"
#include "ops/record/journal.h"
#include "ops/target/look.h"
#include "ops/target/open.h"
#include "ops/target/run.h"
#include "ops/target/sampling.h"
#include "ops/target/visit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- without a call --- */

static int may_poke(struct session *s, const struct jemalloc_values *values, bool want,
		    struct err *err)
{
	bool confirmed;

	if (s->je->config_prof == TRI_NO)
		return session_no_config_prof(s, err);
	if (jemalloc_value_is(values, OPT_PROF) == TRI_NO)
		return session_no_opt_prof(s, err);
	if (jemalloc_value_is(values, OPT_PROF) != TRI_YES) {
		err_raise(err, ERROR_OPT_PROF_UNREAD, SESSION_ARGS(s));
		return err_advise(err, FIX_DROP_POKE_TO_QUERY);
	}
	if (want && (!s->version[0] || switch_forgets(s))) {
		err_raise(err, ERROR_THREADS_FORGOTTEN,
			  .version = s->version[0] ? s->version : "of unknown version");
		return err_advise(err, FIX_DROP_POKE_FOR_THREADS);
	}
	if (look_active(s, &confirmed, err))
		return -1;
	if (confirmed)
		return 0;
	err_raise(err, ERROR_ACTIVE_UNCERTAIN, SESSION_ARGS(s));
	return err_advise(err, FIX_SYMBOLS_OR_NO_POKE);
}

int poke_active(struct session *s, bool want, bool force, struct ops_change *out, struct err *err)
{
	_cleanup_(cleanup_close) int mem = -1;
	struct ops_change change = { .cost = s->cost };
	struct jemalloc_values values;
	char path[64];

	change.cost.mode = INJECTOR_POKE;
	/* Opened first: an address found afterwards belongs to this memory, or to none. */
	snprintf(path, sizeof(path), "/proc/%d/mem", s->proc.mm_pid);
	mem = open(path, O_RDWR | O_CLOEXEC);
	if (mem < 0 && (errno == ENOENT || errno == ESRCH))
		return err_raise(err, ERROR_TARGET_ENDED, SESSION_ARGS(s));
	if (mem < 0) {
		err_raise_sys(err, ERROR_TARGET_UNWRITABLE_BY_US, errno,
			      .code = errno == EACCES || errno == EPERM ? ERR_PERM : ERR_FAILED,
			      SESSION_ARGS(s));
		return err_advise(err, FIX_POKE_NEEDS_RIGHTS);
	}
	if (session_find_jemalloc(s, err) || look_values(s, &values, err) ||
	    may_poke(s, &values, want, err) ||
	    (want && !force && sampling_may_begin(s, OPS_LG_KEEP, err)) ||
	    injector_poke(mem, s->je->prof_active, want, session_left_ms(s), &change.before,
			  &change.after, err))
		return -1;
	if (change.after != want)
		return err_raise(err, ERROR_SWITCH_NOT_SET, SESSION_ARGS(s), .name = "prof.active",
				 .what = change.after ? "true" : "false",
				 .text = want ? "true" : "false");
	if (want && jemalloc_value_is(&values, OPT_PROF_THREAD_ACTIVE_INIT) == TRI_NO) {
		err_raise(&change.warning, ERROR_INIT_IS_FALSE);
		err_advise(&change.warning, FIX_ACTIVATE_BY_CALL);
	}
	change.changed = change.before != change.after;
	*out = change;
	return 0;
}

/* --- by calls --- */

/* prof.active and prof.gdump: switches that are set and read back. */

static const bool on = true;

static int finish(struct session *s, const char *name, bool want, struct ops_change *change,
		  struct ops_change *out, struct err *err)
{
	if (change->after != want)
		return err_raise(err, ERROR_SWITCH_NOT_SET, SESSION_ARGS(s), .name = name,
				 .what = change->after ? "true" : "false",
				 .text = want ? "true" : "false");
	change->changed = change->before != change->after;
	change->cost = s->cost;
	*out = *change;
	return 0;
}

static int check_calls(const struct session *s, const struct call *calls, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		if (!call_succeeded(&calls[i]))
			return session_call_failed(s, &calls[i], err);
	}
	return 0;
}

static int set_switch(struct session *s, const char *name, bool want, struct ops_change *out,
		      struct err *err)
{
	struct ops_change change = { 0 };
	struct call calls[] = {
		call_swap(name, &change.before, &want, sizeof(want)),
		call_read(name, &change.after, sizeof(change.after)),
	};

	if (session_run(s, &(struct run){ .calls = calls, .n = 2, .gated = true }, err) ||
	    check_calls(s, calls, 2, err))
		return -1;
	return finish(s, name, want, &change, out, err);
}

/*
 * jemalloc 5.2.0 and 5.2.1 push a thread's next sample out of reach while profiling is inactive,
 * and only a new struct prof_tdata brings it back (jemalloc #1605, #2231). Any look at
 * thread.prof.active makes one in a thread that has none. prof.reset expires those made while
 * profiling was active before.
 */
bool switch_forgets(const struct session *s)
{
	return !session_older(s, 5, 2, 0) && session_older(s, 5, 3, 0);
}

static int bring_threads_along(struct session *s, struct ops_change *change, struct err *err)
{
	static const struct visit visit = { .read_active = true, .init = TRI_YES };
	_cleanup_(ops_threads_fini) struct ops_threads list = { 0 };
	struct call reset = { .name = "prof.reset", .fd = -1 };
	char release[sizeof(s->version)];

	if (!change->before &&
	    (session_run(s, &(struct run){ .calls = &reset, .n = 1, .gated = true }, err) ||
	     check_calls(s, &reset, 1, err)))
		return -1;
	if (visit_threads(s, &visit, NULL, 0, &list, err))
		return -1;
	strcpy(release, s->version);
	release[strcspn(release, "-")] = '\0';
	if (list.missed) {
		err_raise(&change->warning, ERROR_THREADS_NOT_REACHED, .version = release,
			  .count = (int64_t)list.missed, .number = (int64_t)list.n);
		err_advise(&change->warning, FIX_ACTIVATE_AGAIN);
	} else if (!change->before) {
		err_raise(&change->warning, ERROR_SAMPLES_FORGOTTEN, .version = release);
	}
	return 0;
}

/* The second run: thread_active_init is false, or missing in this jemalloc (3.6). */
static int activate_init_first(struct session *s, bool has_init, struct ops_change *change,
			       bool *opt_active, struct err *err)
{
	struct call calls[] = {
		call_read("opt.prof_active", opt_active, sizeof(*opt_active)),
		call_write("prof.thread_active_init", &on, sizeof(on)),
		call_swap("prof.active", &change->before, &on, sizeof(on)),
		call_read("prof.active", &change->after, sizeof(change->after)),
	};
	size_t skip = has_init ? 0 : 2;

	if (session_run(s, &(struct run){ .calls = calls + skip, .n = 4 - skip, .gated = true },
			err))
		return -1;
	return check_calls(s, calls + skip, 4 - skip, err);
}

int switch_activate(struct session *s, struct ops_change *out, bool *init_changed, struct err *err)
{
	struct ops_change change = { 0 };
	bool init = false, opt_active = false;
	struct call calls[] = {
		call_read("prof.thread_active_init", &init, sizeof(init)),
		call_swap("prof.active", &change.before, &on, sizeof(on)),
		call_read("prof.active", &change.after, sizeof(change.after)),
	};
	bool has_init;

	calls[0].expect = &on;
	if (session_run(s, &(struct run){ .calls = calls, .n = 3, .gated = true }, err))
		return -1;
	has_init = !(calls[0].made && calls[0].ret == ENOENT);
	if (has_init && !call_succeeded(&calls[0]))
		return session_call_failed(s, &calls[0], err);
	*init_changed = has_init && !init;
	if (!init) {
		if (activate_init_first(s, has_init, &change, &opt_active, err))
			return -1;
	} else if (check_calls(s, calls, 3, err)) {
		return -1;
	}
	if (switch_forgets(s) && bring_threads_along(s, &change, err))
		return -1;
	if (has_init && !init && opt_active) {
		/* Some threads had their thread.prof.active set to false. */
		err_raise(&change.warning, ERROR_THREADS_STAY_INACTIVE);
		err_advise(&change.warning, FIX_ACTIVATE_THREADS, .pid = s->proc.pid);
	}
	return finish(s, "prof.active", true, &change, out, err);
}

/*
 * The change has been made: if it will be reverted, or that cannot be prevented, it is only a
 * warning.
 */
static void decide(const struct session *s, bool init, struct ops_change *change)
{
	const struct journal_state decided = { .active = true, .thread_active_init = init };
	struct err why = ERR_INIT;

	if (!journal_decided(&s->proc, &decided, &why) || change->warning.ids[0])
		return;
	if (why.code == ERR_BUSY && !change->after)
		return;
	err_unadvise(&why);
	err_within(&why, why.code == ERR_BUSY ? ERROR_WILL_TURN_IT_OFF : ERROR_UNDO_MAY_REVERT);
	change->warning = why;
}

static void warn_hidden(const struct session *s, bool force, struct ops_change *change)
{
	if (!force && change->changed && change->after)
		sampling_warn_hidden(s, &change->warning);
}

static int poke(struct session *s, pid_t pid, bool want, bool force,
		const struct ops_options *options, struct ops_change *out, struct err *err)
{
	if (session_open_proc(s, pid, options, err) || poke_active(s, want, force, out, err))
		return -1;
	decide(s, false, out);
	warn_hidden(s, force, out);
	return 0;
}

#define ADVICE_MS 1000

/* For failures that prevent a call, but not a write. */
static int suggest_poke(struct session *s, bool want, bool force, struct err *err)
{
	bool no_call = s->no_call || err->code == ERR_UNSAFE || err->code == ERR_BUSY;
	struct jemalloc_values values;
	struct err why = ERR_INIT;

	if (s->options->mode != INJECTOR_AUTO || err->own || !no_call)
		return -1;
	injector_close(take_ptr(s->inj)); /* no more calls from here on */
	/* If the time is up, advice gets one second. */
	if (session_left_ms(s) < ADVICE_MS)
		s->timeout_ms = now_ms() + ADVICE_MS;
	/* Everything that --mode poke checks before it writes. */
	if ((!s->je && session_find_jemalloc(s, &why)) || look_values(s, &values, &why) ||
	    may_poke(s, &values, want, &why) ||
	    (want && !force && sampling_may_begin(s, OPS_LG_KEEP, &why)))
		return -1;
	return err_advise_too(err, FIX_POKE);
}

int ops_activate(pid_t pid, bool force, const struct ops_options *options, struct ops_change *out,
		 struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	bool init_changed;

	if (poke_is_wanted(options))
		return poke(&s, pid, true, force, options, out, err);
	if (session_open(&s, pid, options, err) ||
	    (!force && sampling_may_begin(&s, OPS_LG_KEEP, err)) ||
	    switch_activate(&s, out, &init_changed, err))
		return suggest_poke(&s, true, force, err);
	decide(&s, true, out);
	warn_hidden(&s, force, out);
	return 0;
}

int ops_deactivate(pid_t pid, const struct ops_options *options, struct ops_change *out,
		   struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;

	if (poke_is_wanted(options))
		return poke(&s, pid, false, false, options, out, err);
	if (!session_open(&s, pid, options, err) &&
	    !set_switch(&s, "prof.active", false, out, err)) {
		decide(&s, false, out);
		return 0;
	}
	if (err->code != ERR_NOPROF)
		return suggest_poke(&s, false, false, err);
	/* If profiling is not available there is nothing to stop: that is no failure. */
	*out = (struct ops_change){ .cost = s.cost };
	out->warning = *err;
	err_unadvise(&out->warning);
	return 0;
}

int ops_gdump(pid_t pid, bool want, bool force, const struct ops_options *options,
	      struct ops_change *out, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;

	if (session_open(&s, pid, options, err) ||
	    (want && !force && sampling_may_gdump(&s, err)) ||
	    set_switch(&s, "prof.gdump", want, out, err))
		return -1;
	if (want) {
		err_raise(&out->warning, ERROR_DUMPS_AT_EACH_MAXIMUM);
		err_advise(&out->warning, FIX_WATCH_THE_SPACE);
	}
	return 0;
}
