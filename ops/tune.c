// SPDX-License-Identifier: Apache-2.0
/* prof.prefix and prof.reset. */
#include "ops/ops.h"

#include "base/cleanup.h"
#include "ops/record/journal.h"
#include "ops/target/inside.h"
#include "ops/target/open.h"
#include "ops/target/run.h"
#include "ops/target/sampling.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

static int too_old_for_prefix(const struct session *s, struct err *err)
{
	err_raise(err, ERROR_PREFIX_TOO_OLD, SESSION_ARGS(s),
		  .version = s->version[0] ? s->version : "an older one");
	return err_advise(err, FIX_DUMP_IN_TARGET_EACH);
}

int ops_prefix(pid_t pid, const char *prefix, const struct ops_options *options,
	       struct ops_prefix *out, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(inside_close) struct inside in = INSIDE_INIT;
	struct call call = call_write_string("prof.prefix", prefix);

	if (strlen(prefix) >= PATH_MAX - 64)
		return err_raise(err, ERROR_PREFIX_TOO_LONG, .number = (int64_t)strlen(prefix));
	if (session_open(&s, pid, options, err))
		return -1;
	if (session_older(&s, 5, 3, 0))
		return too_old_for_prefix(&s, err);
	/* With one that cannot be written to, all dumps of the target would fail silently. */
	if ((*prefix && inside_open(&in, &s, prefix, true, err)) ||
	    session_run(&s, &(struct run){ .calls = &call, .n = 1, .gated = true }, err))
		return -1;
	if (call.made && call.ret == ENOENT)
		return too_old_for_prefix(&s, err);
	if (!call_succeeded(&call))
		return session_call_failed(&s, &call, err);
	out->cost = s.cost;
	out->warning = (struct err)ERR_INIT;
	if (*prefix && *prefix != '/')
		err_raise(&out->warning, ERROR_PREFIX_RELATIVE);
	return 0;
}

int ops_reset(pid_t pid, int lg_sample, const struct ops_options *options, struct ops_reset *out,
	      struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	uint64_t before = 0, after = 0, lg = (uint64_t)lg_sample;
	const struct journal_state nothing = { 0 };
	const struct journal_state decided = { .rate = lg_sample != OPS_LG_KEEP };
	struct err why = ERR_INIT, ignored;
	struct call calls[] = {
		call_read("prof.lg_sample", &before, sizeof(before)),
		{ .name = "prof.reset", .fd = -1 },
		call_read("prof.lg_sample", &after, sizeof(after)),
	};

	if (lg_sample != OPS_LG_KEEP) {
		if (lg_sample < 0 || lg_sample > 63)
			return err_raise(err, ERROR_LG_SAMPLE_OUT_OF_RANGE, .number = lg_sample);
		calls[1] = call_write("prof.reset", &lg, sizeof(lg));
	}
	if (session_open(&s, pid, options, err))
		return -1;
	/* The profiles that a recording compares would no longer match. */
	if (journal_decided(&s.proc, &nothing, &why) && why.code == ERR_BUSY) {
		*err = why;
		return -1;
	}
	if ((lg_sample != OPS_LG_KEEP && sampling_may_be_finer(&s, lg, err)) ||
	    session_run(&s, &(struct run){ .calls = calls, .n = 3, .gated = true }, err))
		return -1;
	for (size_t i = 0; i < 3; i++) {
		if (!call_succeeded(&calls[i]))
			return session_call_failed(&s, &calls[i], err);
	}
	*out = (struct ops_reset){
		.cost = s.cost, .lg_before = before, .lg_after = after, .warning = ERR_INIT
	};
	if (after < before)
		sampling_warn_hidden(&s, &out->warning);
	sampling_warn_finer(&s, before, after, &out->warning);
	/* If that fails, undo restores what the journal says, regardless of this change. */
	(void)!journal_decided(&s.proc, &decided, &ignored);
	return 0;
}
