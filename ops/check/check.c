// SPDX-License-Identifier: Apache-2.0
/*
 * The checks that every operation makes, one by one. A check that depends on a failed one is
 * unknown; all others are made.
 */
#include "ops/check/parts.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "ops/explain.h"
#include "ops/record/journal.h"
#include "ops/target/look.h"
#include "ops/target/open.h"
#include "ops/target/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const check_names[CHECKS] = {
	[CHECK_PROCESS] = "process",
	[CHECK_PERMISSION] = "permission",
	[CHECK_YAMA] = "yama",
	[CHECK_CAPABILITY] = "capability",
	[CHECK_NAMESPACE] = "user-namespace",
	[CHECK_SECCOMP] = "seccomp",
	[CHECK_JEMALLOC] = "jemalloc",
	[CHECK_PREFIX] = "prefix",
	[CHECK_CONFIG_PROF] = "config.prof",
	[CHECK_CONF_BUILD] = "conf.build",
	[CHECK_CONF_SYMBOL] = "conf.symbol",
	[CHECK_CONF_LINK] = "conf.link",
	[CHECK_CONF_ENVIRONMENT] = "conf.environment",
	[CHECK_CONF] = "conf",
	[CHECK_CONF_LINT] = "conf.mistakes",
	[CHECK_OPT_PROF] = "opt.prof",
	[CHECK_ACTIVE] = "prof.active",
	[CHECK_INIT] = "prof.thread_active_init",
	[CHECK_RECORDING] = "recording",
	[CHECK_SAMPLE] = "prof.lg_sample",
	[CHECK_UNWINDER] = "unwinder",
	[CHECK_GDUMP] = "opt.prof_gdump",
	[CHECK_VERSION] = "version",
	[CHECK_INJECTION] = "injection",
	[CHECK_THREADS] = "threads",
	[CHECK_DUMP] = "dump",
	[CHECK_DUMP_PREFIX] = "dump.prefix",
};
_Static_assert(CHECKS <= OPS_CHECKS_MAX, "room for all checks");

static bool check_jemalloc(struct session *s, struct ops_check *c, bool may_trace,
			   struct jemalloc_values *found)
{
	struct err err = ERR_INIT;
	char path[OPS_TEXT_SIZE / 3], source[OPS_TEXT_SIZE / 3];
	const char *from;

	if (session_find_jemalloc(s, &err) || look_values(s, found, &err)) {
		if (!may_trace && err.code == ERR_PERM)
			check_unread_for(c, &err);
		else
			check_failed(c, &err);
		return false;
	}
	from = image_debug_source(s->je->image);
	from = from ? from : "";
	check_passed(c, "%s, %s, %s%s%s", s->je->version[0] ? s->je->version : "version unknown",
		     jemalloc_linkage_name(s->je->linkage),
		     output_safe(s->je->image->path, path, sizeof(path)),
		     *from ? ", symbols from " : "", output_safe(from, source, sizeof(source)));
	return true;
}

static void check_prefix(const struct session *s, struct ops_check *c)
{
	char safe[96], prefix[80];

	check_passed(c, "calls go to %smallctl, options come from %s",
		     output_safe(s->je->prefix, prefix, sizeof(prefix)),
		     output_safe(s->je->conf_name, safe, sizeof(safe)));
	if (s->n_jemallocs > 1)
		check_passed(c, "calls go to %smallctl, options come from %s; %zu more jemalloc%s",
			     prefix, safe, s->n_jemallocs - 1, s->n_jemallocs > 2 ? "s" : "");
}

static void check_config_prof(const struct session *s, struct ops_check *c, enum tristate value)
{
	struct err err = ERR_INIT;

	if (value == TRI_NO) {
		session_no_config_prof(s, &err);
		check_failed(c, &err);
	} else if (value == TRI_YES) {
		check_passed(c, "true");
	}
}

static void check_opt_prof(const struct session *s, struct ops_check *c, enum tristate value)
{
	struct err err = ERR_INIT;

	if (value == TRI_NO) {
		session_no_opt_prof(s, &err);
		check_failed(c, &err);
	} else if (value == TRI_YES) {
		check_passed(c, "true");
	}
}

static void check_threads(const struct session *s, struct ops_check *c)
{
	if (!s->version[0]) {
		check_unknown(c, "the version of jemalloc is not known");
		return;
	}
	if (!session_older(s, 5, 2, 0) && session_older(s, 5, 3, 0))
		check_passed(
			c,
			"jemalloc %.*s: activate makes a call in each thread, and discards earlier "
			"samples",
			(int)strcspn(s->version, "-"), s->version);
	else
		check_passed(c, "existing threads are sampled from activation on");
}

/* What the run reads, in this order: the names, and where the values go. */
struct reader {
	struct call calls[SESSION_CALLS_MAX];
	struct check_value *of[SESSION_CALLS_MAX];
	size_t n;
};

static void add_call(struct reader *r, const char *name, struct check_value *v, size_t len)
{
	r->of[r->n] = v;
	r->calls[r->n++] = call_read(name, &v->size, len);
}

static void add_string(struct reader *r, const char *name, char *buf, size_t size)
{
	r->calls[r->n++] = call_read_string(name, buf, size);
}

/*
 * Only reads, whatever config.prof and opt.prof are, as status does. thread.prof.* is excluded:
 * with opt.prof false, reading it makes jemalloc up to 5.2.1 crash at the end of the thread.
 */
static void check_by_run(struct session *s, struct ops_check *rows, struct check_values *v)
{
	struct reader r = { 0 };
	struct err err = ERR_INIT;

	add_string(&r, "version", s->version, sizeof(s->version));
	add_string(&r, "config.malloc_conf", v->malloc_conf, sizeof(v->malloc_conf));
	add_call(&r, "config.prof_libgcc", &v->libgcc, sizeof(bool));
	add_call(&r, "config.prof_libunwind", &v->libunwind, sizeof(bool));
	add_call(&r, "config.prof_frameptr", &v->frameptr, sizeof(bool));
	add_call(&r, "config.prof", &v->config_prof, sizeof(bool));
	add_call(&r, "opt.prof", &v->opt_prof, sizeof(bool));
	add_call(&r, "prof.active", &v->active, sizeof(bool));
	add_call(&r, "prof.thread_active_init", &v->thread_init, sizeof(bool));
	add_call(&r, "prof.lg_sample", &v->lg_sample, sizeof(uint64_t));
	add_string(&r, "opt.prof_prefix", v->prefix, sizeof(v->prefix));
	add_call(&r, "opt.prof_gdump", &v->gdump, sizeof(bool));
	add_call(&r, "opt.prof_final", &v->final, sizeof(bool));
	add_call(&r, "opt.lg_prof_interval", &v->lg_interval, sizeof(int64_t));
	if (session_open_injector(s, &err) ||
	    session_run(s, &(struct run){ .calls = r.calls, .n = r.n, .keep_going = true }, &err)) {
		check_failed(&rows[CHECK_INJECTION], &err);
		return;
	}
	for (size_t i = 0; i < r.n; i++) {
		bool known = call_succeeded(&r.calls[i]);

		if (r.of[i])
			r.of[i]->known |= known; /* may be known from memory already */
		else if (r.calls[i].old == v->malloc_conf)
			v->has_malloc_conf = known;
		else if (r.calls[i].old == v->prefix)
			v->has_prefix = known;
	}
	check_passed(&rows[CHECK_INJECTION], "thread %d was stopped for %llu µs (%s mode)",
		     s->cost.tid, (unsigned long long)s->cost.pause_us,
		     injector_mode_name(s->cost.mode));
	check_config_prof(s, &rows[CHECK_CONFIG_PROF], check_tristate(&v->config_prof));
	check_opt_prof(s, &rows[CHECK_OPT_PROF], check_tristate(&v->opt_prof));
}

/* What its memory shows, in case no call can be made. Without opt.prof it has no meaning. */
static void take_found(const struct jemalloc_values *found, struct check_values *v)
{
	struct check_value *const of[JEMALLOC_OPTS] = { [OPT_LG_PROF_SAMPLE] = &v->lg_sample,
							[OPT_LG_PROF_INTERVAL] = &v->lg_interval,
							[OPT_PROF_GDUMP] = &v->gdump,
							[OPT_PROF_FINAL] = &v->final };
	enum tristate active = found->prof_active;

	if (jemalloc_value_is(found, OPT_PROF) != TRI_YES)
		return;
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++) {
		if (!of[i])
			continue;
		of[i]->known = found->opt[i].known;
		of[i]->number = found->opt[i].value;
	}
	v->active =
		(struct check_value){ .known = active != TRI_UNKNOWN, .flag = active == TRI_YES };
}

static void check_all(struct session *s, pid_t pid, const struct ops_options *options,
		      struct ops_check *rows, struct check_values *values)
{
	char who[SESSION_WHO_SIZE], text[ERR_TEXT_SIZE];
	struct ops_check *recording = &rows[CHECK_RECORDING];
	struct jemalloc_values found;
	struct err err = ERR_INIT, barred = ERR_INIT;
	bool may_trace;

	if (session_open_proc(s, pid, options, &err)) {
		check_failed(&rows[CHECK_PROCESS], &err);
		return;
	}
	check_passed(&rows[CHECK_PROCESS], "%s, uid %u, %u threads",
		     session_who(s, who, sizeof(who)), s->proc.status.euid, s->proc.status.threads);
	may_trace = !session_may_trace(s, &barred);
	if (may_trace)
		check_passed(&rows[CHECK_PERMISSION], "may be traced");
	else
		check_failed(&rows[CHECK_PERMISSION], &barred);
	check_rights(s, may_trace, rows);
	if (!check_jemalloc(s, &rows[CHECK_JEMALLOC], may_trace, &found))
		return;
	check_prefix(s, &rows[CHECK_PREFIX]);
	check_config_prof(s, &rows[CHECK_CONFIG_PROF], s->je->config_prof);
	if (s->je->config_prof != TRI_NO)
		check_opt_prof(s, &rows[CHECK_OPT_PROF], jemalloc_value_is(&found, OPT_PROF));
	take_found(&found, values);
	check_passed(recording, "no other recording");
	journal_look(&s->proc, &recording->err);
	if (recording->err.ids[0])
		snprintf(recording->detail, sizeof(recording->detail), "%s",
			 err_text(&recording->err, text, sizeof(text)));
	if (may_trace)
		check_by_run(s, rows, values);
	if (check_conf(s, values, rows, &err))
		check_unread_for(&rows[CHECK_CONF], &err);
	check_prof(s, values, rows);
	check_threads(s, &rows[CHECK_THREADS]);
	check_route(s, values, rows);
}

/* What was not seen because of a limit of our own is not a verdict on the process. */
static void check_ourselves(struct ops_check *rows)
{
	struct err err = ERR_INIT;

	if (!err_is_remembered())
		return;
	for (size_t i = 0; i < CHECKS; i++) {
		check_unknown(&rows[i], "jeprof-ctl could not inspect everything");
		rows[i].made = false;
	}
	err_explain(&err);
	check_failed(&rows[CHECK_PROCESS], &err);
}

void ops_check(pid_t pid, const struct ops_options *options, struct ops_checks *out)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(cleanup_free) struct check_values *values = calloc(1, sizeof(*values));
	const struct ops_check *jemalloc = &out->v[CHECK_JEMALLOC];
	struct err none = ERR_INIT;

	memset(out, 0, sizeof(*out));
	out->n = CHECKS;
	for (size_t i = 0; i < CHECKS; i++) {
		out->v[i].name = check_names[i];
		check_unknown(&out->v[i],
			      values ? "skipped: an earlier check failed" : "out of memory");
		out->v[i].made = false;
	}
	s.question = check_conf_answer;
	if (values)
		check_all(&s, pid, options, out->v, values);
	check_ourselves(out->v);
	/* In addition to the checks: a failure here fails none of them. */
	if (out->v[CHECK_PERMISSION].ok == TRI_YES) {
		out->has_memory = !explain_seen(&s, jemalloc->ok == TRI_NO ? &jemalloc->err : &none,
						&out->memory, &out->no_memory);
		if (!out->has_memory) {
			err_explain(&out->no_memory);
			err_within(&out->no_memory, ERROR_MEMORY_UNSEEN);
		}
	}
	out->cost = s.cost;
	out->cost.pid = pid;
	out->ready = values && ops_checks_code(out) == ERR_NONE;
}

enum err_code ops_checks_code(const struct ops_checks *checks)
{
	for (size_t i = 0; i < checks->n; i++) {
		if (checks->v[i].ok == TRI_NO)
			return checks->v[i].err.code;
	}
	return ERR_NONE;
}

int ops_conf(const struct ops_conf_request *request, struct ops_conf *out, struct err *err)
{
	const struct ops_options options = { .stop_fd = -1, .start_time = request->start_time };
	_cleanup_(session_close) struct session s = SESSION_INIT;
	enum tristate with_prof = TRI_UNKNOWN;

	out->version[0] = '\0';
	/* Inspects its images: needs no right to trace beyond that, and stops nothing. */
	if (request->pid) {
		if (session_open_proc(&s, request->pid, &options, err) ||
		    session_find_jemalloc(&s, err))
			return -1;
		snprintf(out->version, sizeof(out->version), "%s", s.version);
		with_prof = s.je->config_prof;
	}
	if (request->version) {
		if (!conf_version_parse(request->version))
			return err_raise(err, ERROR_NO_VERSION, .version = request->version);
		snprintf(out->version, sizeof(out->version), "%s", request->version);
	}
	conf_lint(request->text, conf_version_parse(out->version), with_prof, &out->lint);
	return 0;
}
