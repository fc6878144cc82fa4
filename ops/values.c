// SPDX-License-Identifier: Apache-2.0
/* get and set: any mallctl, by name, typed. */
#include "ops/values.h"

#include "base/cleanup.h"
#include "ops/record/journal.h"
#include "ops/target/open.h"
#include "ops/target/run.h"
#include "ops/target/sampling.h"

#include <errno.h>
#include <string.h>

static const uint64_t epoch = 1;

struct call value_call(struct ops_value *value)
{
	if (value->ctl->type == MALLCTL_STRING)
		return call_read_string(value->name, value->text, sizeof(value->text));
	return call_read(value->name, value->v.bytes, mallctl_size(value->ctl->type));
}

static int lookup(const char *name, const struct mallctl **ctl, struct err *err)
{
	*ctl = mallctl_lookup(name);
	if (!*ctl) {
		err_raise(err, ERROR_NAME_UNKNOWN, .name = name);
		return err_advise(err, FIX_SEE_MALLCTL_NAMES);
	}
	if ((*ctl)->danger)
		return err_raise(err, ERROR_NAME_DANGEROUS, .name = name, .text = (*ctl)->danger);
	if ((*ctl)->per_thread) {
		err_raise(err, ERROR_NAME_PER_THREAD, .name = name);
		return err_advise(err, FIX_ASK_FOR_THE_PROCESS);
	}
	return 0;
}

static void value_init(struct ops_value *value, const char *name, const struct mallctl *ctl)
{
	memset(value, 0, sizeof(*value));
	value->name = name;
	value->ctl = ctl;
	value->ret = -1;
}

static int value_take(struct session *s, const struct call *call, struct ops_value *value,
		      struct err *err)
{
	const char *since = value->ctl->since;

	if (call_succeeded(call)) {
		value->ret = 0;
		return 0;
	}
	session_call_failed(s, call, err);
	if (call->made && call->ret == ENOENT && *since)
		err_advise(err, FIX_REQUIRES_VERSION, .name = value->name, .text = since);
	return -1;
}

/* The calls of a get, and the value that each is for; NULL for the epoch. */
_Static_assert(OPS_NAMES_MAX + 1 <= SESSION_CALLS_MAX, "a get reads in one run");
struct reads {
	struct call calls[OPS_NAMES_MAX + 1];
	struct ops_value *of[OPS_NAMES_MAX + 1];
	size_t n;
};

static void add_reads(struct reads *r, struct ops_value *values, size_t n, bool needs_prof)
{
	for (size_t i = 0; i < n; i++) {
		if (values[i].ctl->needs_prof != needs_prof)
			continue;
		r->of[r->n] = &values[i];
		r->calls[r->n++] = value_call(&values[i]);
	}
}

int ops_get(pid_t pid, const char *const *names, size_t n, const struct ops_options *options,
	    struct ops_value *values, struct ops_cost *cost, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	struct ops_value read[OPS_NAMES_MAX];
	struct reads r = { .n = 0 };
	struct run run = { .calls = r.calls };
	const struct mallctl *ctl;
	bool stale = false;

	if (n > OPS_NAMES_MAX)
		return err_raise(err, ERROR_TOO_MANY_NAMES, .limit = OPS_NAMES_MAX);
	for (size_t i = 0; i < n; i++) {
		if (lookup(names[i], &ctl, err))
			return -1;
		if (!(ctl->access & MALLCTL_READ))
			return err_raise(err, ERROR_NAME_WRITE_ONLY, .name = names[i]);
		value_init(&read[i], names[i], ctl);
	}
	if (session_open(&s, pid, options, err))
		return -1;
	for (size_t i = 0; i < n; i++)
		stale |= read[i].ctl->needs_epoch;
	/* Statistics are from the last epoch: begin a new one. */
	if (stale) {
		r.of[r.n] = NULL;
		r.calls[r.n++] = call_write("epoch", &epoch, sizeof(epoch));
	}
	/* All in one run: first what may be read whatever opt.prof is, then the rest. */
	add_reads(&r, read, n, false);
	run.n_unconditional = r.n;
	add_reads(&r, read, n, true);
	run.n = r.n;
	run.gated = run.n_unconditional < run.n;
	if (session_run(&s, &run, err))
		return -1;
	for (size_t i = 0; i < r.n; i++) {
		if (r.of[i] ? value_take(&s, &r.calls[i], r.of[i], err)
			    : !call_succeeded(&r.calls[i]) &&
				      session_call_failed(&s, &r.calls[i], err))
			return -1;
	}
	memcpy(values, read, n * sizeof(*read));
	*cost = s.cost;
	return 0;
}

/* Names with a command of their own, which makes checks that set does not. */
static const struct {
	const char *name;
	enum fix fix;
} own_command[] = {
	{ "prof.dump", FIX_USE_DUMP },
	{ "prof.prefix", FIX_USE_PREFIX },
};

static int parse_set(const char *name, const char *text, const struct mallctl **ctl,
		     union mallctl_value *v, struct err *err)
{
	if (lookup(name, ctl, err))
		return -1;
	if (!((*ctl)->access & MALLCTL_WRITE))
		return err_raise(err, ERROR_NAME_READ_ONLY, .name = name);
	if ((*ctl)->type == MALLCTL_VOID) {
		if (text)
			return err_raise(err, ERROR_NAME_TAKES_NO_VALUE, .name = name);
	} else if (!text) {
		return err_raise(err, ERROR_NAME_NEEDS_VALUE, .name = name);
	} else if ((*ctl)->type != MALLCTL_STRING && mallctl_parse(*ctl, text, v, err)) {
		return -1;
	}
	for (size_t i = 0; i < sizeof(own_command) / sizeof(own_command[0]); i++) {
		if (strcmp(name, own_command[i].name))
			continue;
		err_raise(err, ERROR_NAME_NOT_FOR_SET, .name = name);
		return err_advise(err, own_command[i].fix);
	}
	if ((*ctl)->type == MALLCTL_STRING)
		return err_raise(err, ERROR_NAME_TAKES_STRING, .name = name);
	if (!strcmp(name, "prof.thread_active_init") && !v->b) {
		err_raise(err, ERROR_INIT_STAYS_TRUE);
		return err_advise(err, FIX_USE_DEACTIVATE);
	}
	return 0;
}

int ops_set(pid_t pid, const char *name, const char *text, const struct ops_options *options,
	    struct ops_set *out, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	union mallctl_value v = { 0 };
	struct ops_set set = { 0 };
	const struct journal_state decided = {
		.active = !strcmp(name, "prof.active"),
		.thread_active_init = !strcmp(name, "prof.thread_active_init"),
		.rate = !strcmp(name, "prof.reset") && text,
	};
	struct call calls[2];
	size_t n = 1, size;
	struct err ignored;

	if (parse_set(name, text, &set.ctl, &v, err))
		return -1;
	set.readable = (set.ctl->access & MALLCTL_READ) && set.ctl->type != MALLCTL_VOID;
	value_init(&set.before, name, set.ctl);
	value_init(&set.after, name, set.ctl);
	if (session_open(&s, pid, options, err) ||
	    (!strcmp(name, "prof.active") && v.b && sampling_may_begin(&s, OPS_LG_KEEP, err)) ||
	    (decided.rate && sampling_may_be_finer(&s, v.u64, err)) ||
	    (!strcmp(name, "prof.gdump") && v.b && sampling_may_gdump(&s, err)))
		return -1;
	size = set.ctl->type == MALLCTL_VOID ? 0 : mallctl_size(set.ctl->type);
	if (set.readable) {
		calls[0] = call_swap(name, set.before.v.bytes, v.bytes, size);
		calls[n++] = value_call(&set.after);
	} else {
		calls[0] = call_write(name, size ? v.bytes : NULL, size);
	}
	if (session_run(&s, &(struct run){ .calls = calls, .n = n, .gated = set.ctl->needs_prof },
			err))
		return -1;
	if (value_take(&s, &calls[0], &set.before, err) ||
	    (set.readable && value_take(&s, &calls[1], &set.after, err)))
		return -1;
	set.changed = !set.readable || memcmp(set.before.v.bytes, set.after.v.bytes, size) != 0;
	set.cost = s.cost;
	*out = set;
	/* If that fails, undo restores what the journal says, regardless of this change. */
	(void)!journal_decided(&s.proc, &decided, &ignored);
	return 0;
}
