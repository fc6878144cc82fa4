// SPDX-License-Identifier: Apache-2.0
#include "ops/target/run.h"

#include "ops/target/container.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool call_succeeded(const struct call *call)
{
	return call->made && !call->ret;
}

enum tristate call_answer(const struct call *call)
{
	if (!call_succeeded(call))
		return TRI_UNKNOWN;
	return *(const unsigned char *)call->old ? TRI_YES : TRI_NO;
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

/*
 * Even without profiling, `sample` and `sites` can show what holds new memory, or what allocates.
 * Returns -1.
 */
static int advise_without_prof(const struct session *s, struct err *err)
{
	if (jemalloc_has_hooks(s->version) == TRI_YES)
		return err_advise_too(err, FIX_SAMPLE_AS_IT_IS, .pid = s->proc.pid);
	return *s->version && !session_older(s, 5, 3, 0)
		       ? err_advise_too(err, FIX_SITES_AS_IT_IS, .pid = s->proc.pid)
		       : -1;
}

int session_no_config_prof(const struct session *s, struct err *err)
{
	err_raise(err, ERROR_CONFIG_PROF_FALSE, SESSION_ARGS(s));
	/* The program calls it by its own names, or as its own malloc(3). */
	if (*s->je->prefix || s->je->linkage == LINKAGE_STATIC)
		err_advise(err, strcmp(s->je->prefix, "_rjem_") ? FIX_BUILD_WITH_PROF
								: FIX_BUILD_WITH_PROF_RUST);
	else
		err_advise(err, FIX_RUN_WITH_PROF);
	return advise_without_prof(s, err);
}

int session_no_opt_prof(const struct session *s, struct err *err)
{
	char cgroup[PROC_CGROUP_SIZE], name[256];

	err_raise(err, ERROR_OPT_PROF_FALSE, SESSION_ARGS(s));
	/* How to restart it depends on what started it. */
	err_advise(err, FIX_RESTART_WITH_PROF, .conf = s->je->conf_name);
	proc_cgroup(s->proc.pid, cgroup, sizeof(cgroup));
	switch (starter_parse(cgroup, name, sizeof(name))) {
	case STARTER_SERVICE:
		err_advise_too(err, FIX_ENABLE_UNIT, .name = name);
		break;
	case STARTER_USER_SERVICE:
		err_advise_too(err, FIX_EDIT_USER_UNIT, .name = name, .conf = s->je->conf_name);
		break;
	case STARTER_POD:
		err_advise_too(err, FIX_SET_IN_POD, .conf = s->je->conf_name);
		break;
	case STARTER_DOCKER:
		err_advise_too(err, FIX_RUN_CONTAINER_WITH, .name = name, .conf = s->je->conf_name,
			       .text = "docker");
		break;
	case STARTER_PODMAN:
		err_advise_too(err, FIX_RUN_CONTAINER_WITH, .name = name, .conf = s->je->conf_name,
			       .text = "podman");
		break;
	case STARTER_CONTAINER:
		err_advise_too(err, FIX_SET_IN_CONTAINER, .name = name);
		break;
	case STARTER_UNKNOWN:
		break;
	}
	return advise_without_prof(s, err);
}

int session_call_failed(const struct session *s, const struct call *call, struct err *err)
{
	if (!call->made)
		return err_raise(err, ERROR_NOT_CALLED, SESSION_ARGS(s), .name = call->name);
	if (call->ret == ENOENT)
		return err_raise(err, ERROR_NAME_UNKNOWN_TO_JEMALLOC, SESSION_ARGS(s),
				 .name = call->name,
				 .version = s->version[0] ? s->version : "of unknown version");
	if (call->ret == EFAULT && call->sys)
		return err_raise_target(err, ERROR_CALL_FAILED, call->sys, SESSION_ARGS(s),
					.name = call->name);
	return err_raise_target(err, ERROR_CALL_FAILED, call->ret, SESSION_ARGS(s),
				.name = call->name);
}

/* What is asked before the calls of a run. */
struct gate {
	char confirmed[64], version[64]; /* as in struct jemalloc */
	bool config_prof, opt_prof;
};
enum { GATE_VERSION, GATE_CONFIG_PROF, GATE_OPT_PROF, GATE_CALLS };

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
	static const bool yes = true;
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
		return err_raise(err, ERROR_TOO_MANY_CALLS, .number = (int64_t)run->n);
	if (n_confirm) {
		/* The expected version is known: if another comes back, no further call is made. */
		all[0] = call_read_string("version", gate.confirmed, sizeof(gate.confirmed));
		all[0].expect = s->je->version;
	}
	for (size_t i = 0; run->keep_going && i < run->n; i++)
		run->calls[i].flags |= CALL_KEEP_GOING;
	memcpy(first, run->calls, n_first * sizeof(*all));
	if (n_gate) {
		gates[GATE_VERSION] =
			call_read_string("version", gate.version, sizeof(gate.version));
		gates[GATE_CONFIG_PROF] = call_read("config.prof", &gate.config_prof, sizeof(bool));
		gates[GATE_OPT_PROF] = call_read("opt.prof", &gate.opt_prof, sizeof(bool));
		gates[GATE_CONFIG_PROF].expect = gates[GATE_OPT_PROF].expect = &yes;
	}
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
	if (n_confirm &&
	    (!call_succeeded(&all[0]) || strcmp(gate.confirmed, s->je->version) != 0)) {
		err_raise(err, *gate.confirmed ? ERROR_NOT_MALLCTL : ERROR_MALLCTL_SILENT,
			  SESSION_ARGS(s), .address = (int64_t)s->je->mallctl,
			  .text = gate.confirmed, .version = s->je->version);
		return err_advise(err, FIX_UNSTRIPPED_OR_SYMBOLS);
	}
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
