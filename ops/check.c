// SPDX-License-Identifier: Apache-2.0
/*
 * The checks every operation makes, one by one. A check that cannot be made
 * because an earlier one failed is unknown; the others are made all the same.
 */
#include "ops/ops.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "ops/inside.h"
#include "ops/session.h"

#include <stdarg.h>
#include <string.h>

enum check {
	CHECK_PROCESS,
	CHECK_PERMISSION,
	CHECK_JEMALLOC,
	CHECK_CONFIG_PROF,
	CHECK_OPT_PROF,
	CHECK_INIT,
	CHECK_UNWINDER,
	CHECK_INJECTION,
	CHECK_THREADS,
	CHECK_DUMP,
	CHECKS
};

static const char *const check_names[CHECKS] = {
	[CHECK_PROCESS] = "process",   [CHECK_PERMISSION] = "permission",
	[CHECK_JEMALLOC] = "jemalloc", [CHECK_CONFIG_PROF] = "config.prof",
	[CHECK_OPT_PROF] = "opt.prof", [CHECK_INIT] = "prof.thread_active_init",
	[CHECK_UNWINDER] = "unwinder", [CHECK_INJECTION] = "injection",
	[CHECK_THREADS] = "threads",   [CHECK_DUMP] = "dump",
};
_Static_assert(CHECKS <= OPS_CHECKS_MAX, "room for all checks");

static void passed(struct ops_check *c, const char *fmt, ...) __printf_like(2, 3);
static void unknown(struct ops_check *c, const char *fmt, ...) __printf_like(2, 3);

static void passed(struct ops_check *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->detail, sizeof(c->detail), fmt, ap);
	va_end(ap);
	c->ok = TRI_YES;
}

static void unknown(struct ops_check *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->detail, sizeof(c->detail), fmt, ap);
	va_end(ap);
	c->ok = TRI_UNKNOWN;
}

static void failed(struct ops_check *c, const struct err *err)
{
	c->ok = TRI_NO;
	c->code = err->code;
	snprintf(c->detail, sizeof(c->detail), "%.*s", (int)sizeof(c->detail) - 1, err->msg);
	snprintf(c->fix, sizeof(c->fix), "%s", err->fix);
}

static bool check_process(struct session *s, struct ops_check *c, pid_t pid,
			  const struct ops_options *options)
{
	struct err err = ERR_INIT;
	char who[SESSION_WHO_SIZE];

	if (session_open_proc(s, pid, options, &err)) {
		failed(c, &err);
		return false;
	}
	passed(c, "%s, uid %u, %u threads", session_who(s, who, sizeof(who)), s->proc.status.euid,
	       s->proc.status.threads);
	return true;
}

static bool check_permission(struct session *s, struct ops_check *c)
{
	struct err err = ERR_INIT;

	if (session_may_trace(s, &err)) {
		failed(c, &err);
		return false;
	}
	passed(c, "may be traced");
	return true;
}

static bool check_jemalloc(struct session *s, struct ops_check *c, bool may_trace)
{
	struct err err = ERR_INIT;
	char path[OPS_TEXT_SIZE / 3], source[OPS_TEXT_SIZE / 3];
	const char *from;

	if (session_find_jemalloc(s, &err)) {
		if (!may_trace && err.code == ERR_PERM)
			unknown(c, "%s", err.msg);
		else
			failed(c, &err);
		return false;
	}
	from = image_debug_source(s->je->image);
	from = from ? from : "";
	passed(c, "%s, %s, %s%s%s", s->je->version[0] ? s->je->version : "version unknown",
	       jemalloc_linkage_name(s->je->linkage),
	       output_safe(s->je->image->path, path, sizeof(path)), *from ? ", symbols from " : "",
	       output_safe(from, source, sizeof(source)));
	return true;
}

static void check_config_prof(const struct session *s, struct ops_check *c, enum tristate value)
{
	struct err err = ERR_INIT;

	if (value == TRI_NO) {
		session_no_config_prof(s, &err);
		failed(c, &err);
	} else if (value == TRI_YES) {
		passed(c, "true");
	}
}

static void check_opt_prof(const struct session *s, struct ops_check *c, enum tristate value)
{
	struct err err = ERR_INIT;

	if (value == TRI_NO) {
		session_no_opt_prof(s, &err);
		failed(c, &err);
	} else if (value == TRI_YES) {
		passed(c, "true");
	}
}

static void check_threads(const struct session *s, struct ops_check *c)
{
	if (!s->version[0]) {
		unknown(c, "the version of jemalloc is not known");
		return;
	}
	if (!session_older(s, 5, 2, 0) && session_older(s, 5, 3, 0))
		passed(c,
		       "jemalloc %.*s: activate makes a call in each thread, and forgets earlier "
		       "samples",
		       (int)strcspn(s->version, "-"), s->version);
	else
		passed(c, "threads that exist are sampled from activation on");
}

static void check_unwinder(const struct session *s, struct ops_check *c)
{
	struct err err;

	if (session_may_sample(s, &err))
		failed(c, &err);
	else
		passed(c, "no code is known that it stumbles over");
}

static void no_dump(struct ops_check *c, enum err_code code, const char *why)
{
	c->ok = TRI_NO;
	c->code = code;
	snprintf(c->detail, sizeof(c->detail), "%s", why);
	snprintf(c->fix, sizeof(c->fix),
		 "let the target write to a folder of its own: dump --in-target PATH");
}

static void check_dump(const struct session *s, struct ops_check *c)
{
	if (!inside_has_proc(&s->proc))
		no_dump(c, ERR_OUTPUT, "there is no /proc in the target's root directory");
	else if (s->cost.stops && s->cost.mode == INJECTOR_INLINE)
		no_dump(c, ERR_FAILED, "a profile comes back only from a thread made for it");
	else
		passed(c, "comes back through a memfd");
}

static enum tristate value_of(const struct call *call, bool value)
{
	if (!call->made || call->ret)
		return TRI_UNKNOWN;
	return value ? TRI_YES : TRI_NO;
}

/* One run that only reads; each value ends it when it makes the next one meaningless. */
static void check_by_run(struct session *s, struct ops_checks *out)
{
	static const bool yes = true;
	bool config = false, opt = false, init = false;
	struct err err = ERR_INIT;
	struct call calls[] = {
		call_read_string("version", s->version, sizeof(s->version)),
		call_read("config.prof", &config, sizeof(config)),
		call_read("opt.prof", &opt, sizeof(opt)),
		call_read("prof.thread_active_init", &init, sizeof(init)),
	};

	calls[1].expect = calls[2].expect = &yes;
	if (session_open_injector(s, &err) || session_run(s, calls, 4, &err)) {
		failed(&out->v[CHECK_INJECTION], &err);
		return;
	}
	passed(&out->v[CHECK_INJECTION], "thread %d stood for %llu us, mode %s", s->cost.tid,
	       (unsigned long long)s->cost.pause_us, injector_mode_name(s->cost.mode));
	check_config_prof(s, &out->v[CHECK_CONFIG_PROF], value_of(&calls[1], config));
	check_opt_prof(s, &out->v[CHECK_OPT_PROF], value_of(&calls[2], opt));
	if (value_of(&calls[3], init) == TRI_YES)
		passed(&out->v[CHECK_INIT], "true");
	else if (value_of(&calls[3], init) == TRI_NO)
		passed(&out->v[CHECK_INIT], "false; activate sets it to true first");
}

static void check_all(struct session *s, pid_t pid, const struct ops_options *options,
		      struct ops_checks *out)
{
	struct ops_check *v = out->v;
	bool may_trace;

	if (!check_process(s, &v[CHECK_PROCESS], pid, options))
		return;
	may_trace = check_permission(s, &v[CHECK_PERMISSION]);
	if (!check_jemalloc(s, &v[CHECK_JEMALLOC], may_trace))
		return;
	check_config_prof(s, &v[CHECK_CONFIG_PROF], s->je->config_prof);
	if (s->je->config_prof != TRI_NO)
		check_opt_prof(s, &v[CHECK_OPT_PROF], jemalloc_peek(&s->proc, s->je->opt_prof));
	if (may_trace)
		check_by_run(s, out);
	check_unwinder(s, &v[CHECK_UNWINDER]);
	check_threads(s, &v[CHECK_THREADS]);
	check_dump(s, &v[CHECK_DUMP]);
}

void ops_check(pid_t pid, const struct ops_options *options, struct ops_checks *out)
{
	_cleanup_(session_close) struct session s = { 0 };

	memset(out, 0, sizeof(*out));
	out->n = CHECKS;
	for (size_t i = 0; i < CHECKS; i++) {
		out->v[i].name = check_names[i];
		unknown(&out->v[i], "cannot be told before what failed is mended");
	}
	check_all(&s, pid, options, out);
	out->cost = s.cost;
	out->cost.pid = pid;
	out->ready = ops_checks_code(out) == ERR_NONE;
}

enum err_code ops_checks_code(const struct ops_checks *checks)
{
	for (size_t i = 0; i < checks->n; i++) {
		if (checks->v[i].ok == TRI_NO)
			return checks->v[i].code;
	}
	return ERR_NONE;
}
