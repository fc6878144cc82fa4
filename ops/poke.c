// SPDX-License-Identifier: Apache-2.0
#include "ops/poke.h"

#include "base/cleanup.h"
#include "injector/poke.h"
#include "ops/look.h"
#include "ops/switch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int open_memory(const struct session *s, int *mem, struct err *err)
{
	char path[64], who[SESSION_WHO_SIZE];

	snprintf(path, sizeof(path), "/proc/%d/mem", s->proc.mm_pid);
	*mem = open(path, O_RDWR | O_CLOEXEC);
	if (*mem >= 0)
		return 0;
	if (errno == ENOENT || errno == ESRCH)
		return err_set(err, ERR_LOST, "%s has ended meanwhile",
			       session_who(s, who, sizeof(who)));
	err_sys(err, errno == EACCES || errno == EPERM ? ERR_PERM : ERR_FAILED, errno,
		"cannot write to the memory of %s", session_who(s, who, sizeof(who)));
	return err_fix(err, "--mode poke needs CAP_SYS_PTRACE and, for a process of another user, "
			    "CAP_DAC_OVERRIDE");
}

static int may_poke(struct session *s, const struct jemalloc_values *values, bool want,
		    struct err *err)
{
	char who[SESSION_WHO_SIZE];
	bool confirmed;

	session_who(s, who, sizeof(who));
	if (s->je->config_prof == TRI_NO)
		return session_no_config_prof(s, err);
	if (jemalloc_value_is(values, OPT_PROF) == TRI_NO)
		return session_no_opt_prof(s, err);
	if (jemalloc_value_is(values, OPT_PROF) != TRI_YES) {
		err_set(err, ERR_UNSAFE, "opt.prof of %s cannot be read from its memory", who);
		return err_fix(err, "without --mode poke it is asked for by a call");
	}
	if (want && (!s->version[0] || switch_forgets(s))) {
		err_set(err, ERR_UNSAFE,
			"in jemalloc %s threads that exist are not sampled by prof.active alone",
			s->version[0] ? s->version : "of unknown version");
		return err_fix(err, "without --mode poke each of them is told by a call");
	}
	if (look_active(s, &confirmed, err))
		return -1;
	if (confirmed)
		return 0;
	err_set(err, ERR_UNSAFE, "where prof.active lies in %s is not known for certain", who);
	return err_fix(err, "install debug symbols of its jemalloc, or do without --mode poke");
}

int poke_active(struct session *s, bool want, bool force, struct ops_change *out, struct err *err)
{
	_cleanup_(cleanup_close) int mem = -1;
	struct ops_change change = { .cost = s->cost };
	struct jemalloc_values values;
	char who[SESSION_WHO_SIZE];

	change.cost.mode = INJECTOR_POKE;
	/* Opened first: an address that is found afterwards is of this memory, or of none. */
	if (open_memory(s, &mem, err) || session_find_jemalloc(s, err) ||
	    (want && !force && session_may_sample(s, err)) || look_values(s, &values, err) ||
	    may_poke(s, &values, want, err) ||
	    injector_poke(mem, s->je->prof_active, want, session_left_ms(s), &change.before,
			  &change.after, err))
		return -1;
	if (change.after != want)
		return err_set(err, ERR_FAILED, "prof.active in %s reads %s after it was set to %s",
			       session_who(s, who, sizeof(who)), change.after ? "true" : "false",
			       want ? "true" : "false");
	if (want && jemalloc_value_is(&values, OPT_PROF_THREAD_ACTIVE_INIT) == TRI_NO)
		snprintf(change.warning, sizeof(change.warning),
			 "opt.prof_thread_active_init is false: its threads are not sampled unless "
			 "a call made that true; activate without --mode poke does");
	change.changed = change.before != change.after;
	*out = change;
	return 0;
}
