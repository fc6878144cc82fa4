// SPDX-License-Identifier: Apache-2.0
#include "ops/target/run.h"

#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool call_succeeded(const struct call *call)
{
	return call->made && !call->ret;
}

static void add_cost(struct session *s, const struct injector_report *report,
		     const struct call *calls, size_t n)
{
	s->last = *report;
	if (report->fresh)
		return;
	s->cost.stops += report->stops;
	s->cost.tid = report->tid;
	s->cost.mode = report->mode;
	s->cost.pause_us += report->pause_us;
	s->cost.prolonged += report->prolonged;
	s->cost.late_us += report->late_us;
	for (size_t i = 0; i < n; i++)
		s->cost.call_us += calls[i].made ? calls[i].call_us : 0;
}

static int not_jemalloc(const struct session *s, const char *version, struct err *err)
{
	char who[SESSION_WHO_SIZE], safe[sizeof(s->version) * 4];

	err_set(err, ERR_NOJEMALLOC,
		"what was found at %#llx in %s, which has no symbols, is not jemalloc's mallctl: "
		"asked for its version it %s%s instead of %s",
		(unsigned long long)s->je->mallctl, session_who(s, who, sizeof(who)),
		*version ? "said " : "failed", output_safe(version, safe, sizeof(safe)),
		s->je->version);
	return err_fix(err, "run a build of the program that was not stripped, or install its "
			    "debug symbols");
}

int session_no_config_prof(const struct session *s, struct err *err)
{
	char who[SESSION_WHO_SIZE];

	err_set(err, ERR_NOPROF,
		"config.prof is false in %s: its jemalloc was built without profiling",
		session_who(s, who, sizeof(who)));
	/* The program calls it by names of its own, or by its own malloc(3). */
	if (*s->je->prefix || s->je->linkage == LINKAGE_STATIC)
		return err_fix(err,
			       "build it with a jemalloc that has profiling (--enable-prof%s): no "
			       "library that is preloaded takes the place of this one",
			       strcmp(s->je->prefix, "_rjem_") ? ""
							       : "; in Rust the feature profiling "
								 "of tikv-jemallocator");
	return err_fix(err,
		       "run it with a jemalloc built with --enable-prof (Debian's libjemalloc2 "
		       "on amd64 is one; LD_PRELOAD can bring it in)");
}

int session_no_opt_prof(const struct session *s, struct err *err)
{
	char who[SESSION_WHO_SIZE], name[sizeof(s->je->conf_name) * 4];

	output_safe(s->je->conf_name, name, sizeof(name));
	err_set(err, ERR_NOPROF,
		"opt.prof is false in %s: its jemalloc was started without profiling, "
		"which cannot be changed while it runs",
		session_who(s, who, sizeof(who)));
	return err_fix(err, "restart it with %s=prof:true,prof_active:false in its environment",
		       name);
}

int session_call_failed(const struct session *s, const struct call *call, struct err *err)
{
	char who[SESSION_WHO_SIZE];

	session_who(s, who, sizeof(who));
	if (!call->made)
		return err_set(err, ERR_FAILED, "%s was not called in %s", call->name, who);
	if (call->ret == ENOENT)
		return err_set(err, ERR_FAILED, "jemalloc %s in %s does not know %s",
			       s->version[0] ? s->version : "of unknown version", who, call->name);
	if (call->ret == EFAULT && call->sys)
		return err_target(err, ERR_FAILED, call->sys, "%s failed in %s", call->name, who);
	return err_target(err, ERR_FAILED, call->ret, "%s failed in %s", call->name, who);
}

/* What is asked before the calls of a run are made. */
struct gate {
	char confirmed[64], version[64]; /* as that of struct jemalloc */
	bool config_prof, opt_prof;
};
enum { GATE_VERSION, GATE_CONFIG_PROF, GATE_OPT_PROF, GATE_CALLS };

/* The version is known already: if that is not what comes back, it is the last call. */
static struct call confirm(const struct session *s, struct gate *gate)
{
	struct call call = call_read_string("version", gate->confirmed, sizeof(gate->confirmed));

	call.expect = s->je->version;
	return call;
}

static void add_gate(struct gate *gate, struct call calls[GATE_CALLS])
{
	static const bool yes = true;

	calls[GATE_VERSION] = call_read_string("version", gate->version, sizeof(gate->version));
	calls[GATE_CONFIG_PROF] = call_read("config.prof", &gate->config_prof, sizeof(bool));
	calls[GATE_OPT_PROF] = call_read("opt.prof", &gate->opt_prof, sizeof(bool));
	calls[GATE_CONFIG_PROF].expect = calls[GATE_OPT_PROF].expect = &yes;
}

static int gate_verdict(struct session *s, const struct gate *gate, const struct call *calls,
			struct err *err)
{
	for (size_t i = 0; i < GATE_CALLS; i++) {
		if (!call_succeeded(&calls[i]))
			return session_call_failed(s, &calls[i], err);
		if (i == GATE_VERSION)
			snprintf(s->version, sizeof(s->version), "%s", gate->version);
		if (i == GATE_CONFIG_PROF && !gate->config_prof)
			return session_no_config_prof(s, err);
	}
	return gate->opt_prof ? 0 : session_no_opt_prof(s, err);
}

static bool all_succeeded(const struct call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!call_succeeded(&calls[i]))
			return false;
	return true;
}

int session_run(struct session *s, const struct run *run, struct err *err)
{
	const size_t n_confirm = s->je->by_scan, n_gate = run->gated ? GATE_CALLS : 0;
	const size_t n_first = run->gated ? run->n_unconditional : run->n;
	struct gate gate = { .version = "" };
	struct call all[CALLS_MAX], *first = all + n_confirm, *gates = first + n_first;
	struct injector_run in = { .calls = all,
				   .n = n_confirm + run->n + n_gate,
				   .tid = run->tid,
				   .search_ms = run->search_ms };
	struct injector_report report = { 0 };
	bool failed;

	if (run->n > SESSION_CALLS_MAX)
		return err_set(err, ERR_FAILED, "too many calls for one run: %zu", run->n);
	if (n_confirm)
		all[0] = confirm(s, &gate);
	memcpy(first, run->calls, n_first * sizeof(*all));
	if (n_gate)
		add_gate(&gate, gates);
	memcpy(gates + n_gate, run->calls + n_first, (run->n - n_first) * sizeof(*all));
	do {
		failed = injector_run(s->inj, &in, &report, err) != 0;
	} while (failed && session_try_again(s, err));
	memcpy(run->calls, first, n_first * sizeof(*all));
	memcpy(run->calls + n_first, gates + n_gate, (run->n - n_first) * sizeof(*all));
	if (failed)
		return session_no_call(s, err);
	add_cost(s, &report, all, in.n);
	if (report.fresh)
		return 0;
	if (n_confirm && (!call_succeeded(&all[0]) || strcmp(gate.confirmed, s->je->version) != 0))
		return not_jemalloc(s, gate.confirmed, err);
	return n_gate && all_succeeded(first, n_first) ? gate_verdict(s, &gate, gates, err) : 0;
}

struct call call_read(const char *name, void *old, size_t len)
{
	return (struct call){ .name = name, .old = old, .old_len = len, .fd = -1 };
}

struct call call_write(const char *name, const void *new, size_t len)
{
	return (struct call){ .name = name, .new = new, .new_len = len, .fd = -1 };
}

struct call call_swap(const char *name, void *old, const void *new, size_t len)
{
	return (struct call){
		.name = name, .old = old, .old_len = len, .new = new, .new_len = len, .fd = -1
	};
}

struct call call_read_string(const char *name, char *old, size_t size)
{
	return (struct call){
		.name = name, .flags = CALL_OLD_STRING, .old = old, .old_len = size, .fd = -1
	};
}

struct call call_write_string(const char *name, const char *text)
{
	return (struct call){ .name = name,
			      .flags = CALL_NEW_STRING,
			      .new = text,
			      .new_len = strlen(text) + 1,
			      .fd = -1 };
}
