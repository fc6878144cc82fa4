// SPDX-License-Identifier: Apache-2.0
#include "ops/unit/unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "ops/target/look.h"
#include "ops/target/open.h"
#include "ops/target/run.h"
#include "ops/unit/drop_in.h"
#include "ops/unit/systemd.h"
#include "ops/unit/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STARTED_WITHIN_MS 15000
#define LOOK_AGAIN_MS 200

/* What systemd reports of a unit. */
struct facts {
	char *shown;
	pid_t main_pid;
	char group[PATH_MAX]; /* its control group; "" if it is not running */
	char *list;	      /* buffer for one property at a time, large enough for each */
};

static void free_facts(struct facts **f)
{
	if (*f) {
		free((*f)->shown);
		free((*f)->list);
	}
	free(*f);
}

static const char *property(struct facts *f, const char *name)
{
	unit_property(f->shown, name, f->list, strlen(f->shown) + 1);
	return f->list;
}

/* At most four are made; there is room for them. */
static struct err *note(struct ops_unit *u)
{
	return &u->notes[u->n_notes++];
}

/* --- what systemd knows --- */

static const char properties[] =
	"Id,LoadState,LoadError,Environment,EnvironmentFiles,UnsetEnvironment,MainPID,"
	"ControlGroup,NeedDaemonReload,Transient";

static int show(const char *const *args, struct facts **out, struct err *err)
{
	_cleanup_(free_facts) struct facts *f = calloc(1, sizeof(*f));

	if (!f)
		return err_no_memory(err);
	if (systemctl(args, &f->shown, err))
		return geteuid() ? err_advise(err, FIX_SUDO) : -1;
	f->list = malloc(strlen(f->shown) + 1);
	if (!f->list)
		return err_no_memory(err);
	*out = take_ptr(f);
	return 0;
}

static int ask(const char *name, struct facts **f, struct err *err)
{
	const char *const args[] = { "show", "-p", properties, "--", name, NULL };

	if (show(args, f, err))
		return -1;
	(*f)->main_pid = (pid_t)strtol(property(*f, "MainPID"), NULL, 10);
	unit_property((*f)->shown, "ControlGroup", (*f)->group, sizeof((*f)->group));
	return 0;
}

/* Can it be started? */
static int check_loaded(const struct ops_unit *u, struct facts *f, struct err *err)
{
	const char *state = property(f, "LoadState");

	if (!strcmp(state, "not-found")) {
		err_raise(err, ERROR_UNIT_NOT_FOUND, .name = u->name);
		return err_advise(err, FIX_SEE_SERVICES);
	}
	if (!strcmp(state, "masked")) {
		err_raise(err, ERROR_UNIT_MASKED, .name = u->name);
		return err_advise(err, FIX_UNMASK, .name = u->name);
	}
	if (strcmp(state, "loaded") != 0) {
		err_raise(err, ERROR_UNIT_BROKEN, .name = u->name,
			  .text = property(f, "LoadError"));
		return err_advise(err, FIX_VERIFY_UNIT, .name = u->name);
	}
	return 0;
}

static int find_unit(const char *given, struct ops_unit *u, struct facts **f, struct err *err)
{
	char id[UNIT_NAME_SIZE];

	if (unit_name(given, u->name, err) || systemd_booted(err) || ask(u->name, f, err))
		return -1;
	/* The name that systemd has for it becomes part of a path, too. */
	unit_property((*f)->shown, "Id", id, sizeof(id));
	if (*id && unit_name(id, u->name, err))
		return -1;
	u->runs = (*f)->main_pid > 0 || *(*f)->group;
	return 0;
}

/* Notes a unit file that systemd has not read: daemon-reload failed, or was not reached. */
static void note_reload(struct ops_unit *u, struct facts *f)
{
	if (strcmp(property(f, "NeedDaemonReload"), "yes") != 0)
		return;
	u->unread = u->enables && !ops_unit_changes(u);
	if (ops_unit_reloads(u))
		err_raise(note(u), ERROR_UNITS_CHANGED);
}

/* --- its processes --- */

/* The process of the service that uses jemalloc: the main one, else the first. */
static int find_process(struct ops_unit *u, const struct facts *f,
			const struct ops_options *options, struct err *err)
{
	const struct ops_filter filter = { .cgroup = f->group };
	_cleanup_(ops_match_fini) struct ops_matches found = { 0 };
	size_t best = 0;

	if (ops_match(&filter, &found, err) ||
	    ops_match_jemalloc(&found, false, options->stop_fd, err))
		return -1;
	if (!found.n)
		return err_raise(err, ERROR_UNIT_WITHOUT_JEMALLOC, .name = u->name),
		       err_advise(err, FIX_PRELOAD_IN_UNIT, .name = u->name);
	for (size_t i = 1; i < found.n; i++)
		if (found.v[i].pid == f->main_pid)
			best = i;
	u->process = found.v[best];
	return 0;
}

/* Finds the variable that it reads, its version, and whether it can be profiled. */
static int look_at(struct ops_unit *u, const struct ops_options *options, char version[64],
		   struct err *err)
{
	struct ops_options by = *options;
	_cleanup_(session_close) struct session s = SESSION_INIT;
	struct jemalloc_values values;

	by.start_time = u->process.start_time;
	if (session_open_proc(&s, u->process.pid, &by, err) || session_find_jemalloc(&s, err) ||
	    look_values(&s, &values, err))
		return -1;
	snprintf(u->variable, sizeof(u->variable), "%s", s.je->conf_name);
	snprintf(version, 64, "%s", s.version);
	if (s.je->config_prof == TRI_NO)
		return session_no_config_prof(&s, err);
	u->opt_prof = jemalloc_value_is(&values, OPT_PROF);
	return 0;
}

/* A problem of the program is a reason to refuse; a failure to inspect it is not. */
static int look_at_service(struct ops_unit *u, const struct facts *f, bool force,
			   const struct ops_options *options, char version[64], struct err *err)
{
	struct err why = ERR_INIT;
	char name[UNIT_VARIABLE_SIZE];

	/* As noted when the drop-in was written: the service may not be running now. */
	for (size_t i = u->n_files; i--;) {
		const char *text = u->files[i].before;

		if (text && drop_in_variable(text, name, sizeof(name)) &&
		    jemalloc_is_conf_name(name))
			memcpy(u->variable, name, sizeof(name));
	}
	if (!*f->group) {
		err_raise(note(u), ERROR_UNIT_UNSEEN, .name = u->name, .conf = u->variable);
		return 0;
	}
	if (!find_process(u, f, options, &why) && !look_at(u, options, version, &why))
		return 0;
	if (force || (why.code != ERR_NOJEMALLOC && why.code != ERR_NOPROF)) {
		*note(u) = why;
		return 0;
	}
	*err = why;
	return err_within(err, ERROR_ENABLE_IS_VAIN), err_advise_too(err, FIX_ENABLE_BY_FORCE);
}

/* --- the current value of the variable, and the new one --- */

static int assigned(const char *list, const struct ops_unit *u, char *buf, bool *set,
		    struct err *err)
{
	*set = unit_list_get(list, u->variable, buf, UNIT_VALUE_SIZE);
	return *set || !unit_list_names(list, u->variable)
		       ? 0
		       : err_raise(err, ERROR_UNIT_CONF_TOO_LONG, .name = u->name,
				   .conf = u->variable);
}

/* Its value in systemd, including the drop-in: from the unit, else the one for all services. */
static int effective(struct facts *f, const struct ops_unit *u, char *buf, bool *set,
		     struct err *err)
{
	static const char *const args[] = { "show", "-p", "Environment", NULL };
	_cleanup_(free_facts) struct facts *manager = NULL;

	if (assigned(property(f, "Environment"), u, buf, set, err))
		return -1;
	if (*set)
		return 0;
	if (show(args, &manager, err))
		return -1;
	return assigned(property(manager, "Environment"), u, buf, set, err);
}

/* The value without the drop-in: an existing drop-in contains it. */
static int find_was(struct ops_unit *u, struct facts *f, struct err *err)
{
	for (size_t i = 0; i < u->n_files; i++) {
		const char *text = u->files[i].before;

		if (text && drop_in_was(text, u->variable, &u->was_set, u->was, sizeof(u->was)))
			return 0;
	}
	return effective(f, u, u->was, &u->was_set, err);
}

/* The first finding of this level about a configuration. */
static const struct conf_finding *finding(const struct conf_lint *lint, enum conf_level level)
{
	for (size_t i = 0; i < lint->n; i++)
		if (lint->v[i].level == level)
			return &lint->v[i];
	return NULL;
}

/* Without control characters, and in UTF-8: systemd accepts nothing else. */
static bool is_plain(const char *text)
{
	char safe[UNIT_VALUE_SIZE];

	return !strcmp(output_safe(text, safe, sizeof(safe)), text);
}

static int make_value(struct ops_unit *u, const char *wanted, const char *version, struct err *err)
{
	_cleanup_(cleanup_free) struct conf_lint *lint = calloc(1, sizeof(*lint));
	int number = conf_version_parse(version);
	const struct conf_finding *bad, *odd;
	struct conf_state state;

	if (!lint)
		return err_no_memory(err);
	conf_lint(wanted, number, TRI_UNKNOWN, lint);
	bad = finding(lint, CONF_ERROR);
	if (bad) {
		err_raise(err, ERROR_CONF_WRONG, .what = bad->text);
		return err_advise(err, *bad->fix ? FIX_OF_LINT : FIX_SEE_CONF, .text = bad->fix);
	}
	if (!is_plain(wanted) || (u->was_set && !is_plain(u->was)))
		return err_raise(
			err, ERROR_CONF_WRONG,
			.what = "it contains control characters, is not UTF-8, or is too long");
	if (!conf_merge(u->was_set ? u->was : "", wanted, u->value, sizeof(u->value))) {
		err_raise(err, ERROR_UNIT_CONF_MALFORMED, .conf = u->variable, .name = u->name,
			  .text = u->was);
		return err_advise(err, FIX_CORRECT_CONF);
	}
	conf_state_init(&state, number ? number : conf_versions[CONF_VERSIONS - 1], TRI_UNKNOWN);
	conf_state_apply(&state, u->value, CONF_FROM_ENVIRONMENT);
	conf_state_finish(&state);
	if (!state.v[CONF_PROF].n)
		return err_raise(err, ERROR_CONF_WITHOUT_PROF, .text = u->value),
		       err_advise(err, FIX_WITH_PROF_TRUE);
	u->samples = state.v[CONF_PROF_ACTIVE].n;
	conf_lint(u->value, number, TRI_UNKNOWN, lint);
	odd = finding(lint, CONF_ERROR);
	odd = odd ? odd : finding(lint, CONF_WARNING);
	if (odd) {
		struct err *w = note(u);

		err_raise(w, ERROR_CONF_IS_ODD, .conf = u->variable, .what = odd->text);
		err_advise(w, *odd->fix ? FIX_OF_LINT : FIX_SEE_CONF, .text = odd->fix);
	}
	return 0;
}

/*
 * A drop-in sets Environment=, which two other settings override; of several files, the last one
 * counts.
 */
static int check_overruled(struct ops_unit *u, struct facts *f, struct err *err)
{
	struct environment_file file = { .path = "" };
	char line[PATH_MAX + 64], both[UNIT_VALUE_SIZE] = "";
	const char *at = f->shown;

	if (unit_list_names(property(f, "UnsetEnvironment"), u->variable)) {
		err_raise(err, ERROR_UNIT_UNSETS, .name = u->name, .conf = u->variable);
		return err_advise(err, FIX_CORRECT_UNIT, .name = u->name);
	}
	while (unit_property_next(&at, "EnvironmentFiles", line, sizeof(line)))
		environment_file_get(line, u->variable, &file);
	if (*file.unread)
		err_raise(note(u), ERROR_UNIT_FILE_UNREAD, .path = file.unread, .conf = u->variable,
			  .name = u->name);
	if (!*file.path)
		return 0;
	if (!conf_merge(file.value, u->value, both, sizeof(both)))
		memcpy(both, u->value, sizeof(both));
	err_raise(err, ERROR_UNIT_FILE_SETS, .path = file.path, .conf = u->variable,
		  .name = u->name);
	return err_advise(err, FIX_SET_IT_THERE, .conf = u->variable, .text = both);
}

/* --- plans --- */

int ops_unit_enable(const struct ops_unit_request *request, const struct ops_options *options,
		    struct ops_unit *out, struct err *err)
{
	_cleanup_(free_facts) struct facts *f = NULL;
	const char *wanted = request->conf ? request->conf : UNIT_CONF;
	char version[64] = "";

	*out = (struct ops_unit){ .enables = true, .variable = "MALLOC_CONF" };
	if (find_unit(request->unit, out, &f, err) || check_loaded(out, f, err))
		return -1;
	if (!strcmp(property(f, "Transient"), "yes")) {
		err_raise(err, ERROR_UNIT_TRANSIENT, .name = out->name);
		return err_advise(err, FIX_SETENV_AT_START, .conf = out->variable, .text = wanted);
	}
	if (drop_in_find(out, request->runtime, err) ||
	    look_at_service(out, f, request->force, options, version, err) ||
	    find_was(out, f, err) || make_value(out, wanted, version, err) ||
	    check_overruled(out, f, err))
		return -1;
	out->files[0].after =
		drop_in_make(out->name, out->variable, out->was_set ? out->was : NULL, out->value);
	if (!out->files[0].after)
		return err_no_memory(err);
	note_reload(out, f);
	return 0;
}

int ops_unit_disable(const struct ops_unit_request *request, struct ops_unit *out, struct err *err)
{
	_cleanup_(free_facts) struct facts *f = NULL;

	*out = (struct ops_unit){ .opt_prof = TRI_UNKNOWN };
	if (find_unit(request->unit, out, &f, err) || drop_in_find(out, false, err))
		return -1;
	note_reload(out, f);
	/* Leftovers of a unit that no longer exists can be removed, too. */
	return ops_unit_changes(out) ? 0 : check_loaded(out, f, err);
}

void ops_unit_fini(struct ops_unit *u)
{
	for (size_t i = 0; i < u->n_files; i++) {
		free(u->files[i].before);
		free(u->files[i].after);
	}
	u->n_files = 0;
}

bool ops_unit_file_changes(const struct ops_unit_file *f)
{
	return f->before && f->after ? strcmp(f->before, f->after) != 0 : f->before != f->after;
}

bool ops_unit_changes(const struct ops_unit *u)
{
	for (size_t i = 0; i < u->n_files; i++)
		if (ops_unit_file_changes(&u->files[i]))
			return true;
	return false;
}

bool ops_unit_reloads(const struct ops_unit *u)
{
	return u->unread || ops_unit_changes(u);
}

/* --- carrying them out --- */

int ops_unit_carry_out(struct ops_unit *u, struct err *err)
{
	static const char *const reload[] = { "daemon-reload", NULL };
	_cleanup_(cleanup_free) char *said = NULL;
	_cleanup_(free_facts) struct facts *f = NULL;
	char now[UNIT_VALUE_SIZE] = "";
	bool set;

	if (ops_unit_reloads(u) && geteuid()) {
		err_raise(err, ERROR_UNITS_ARE_ROOTS);
		return err_advise(err, FIX_SUDO);
	}
	for (size_t i = 0; i < u->n_files; i++)
		if (ops_unit_file_changes(&u->files[i]) && drop_in_put(&u->files[i], err))
			return -1;
	if (ops_unit_reloads(u) && systemctl(reload, &said, err))
		return -1;
	if (!u->enables)
		return 0;
	/* A drop-in that sorts after ours may set it, too, or clear all variables. */
	if (ask(u->name, &f, err) || effective(f, u, now, &set, err))
		return -1;
	if (set && !strcmp(now, u->value))
		return 0;
	err_raise(err, set ? ERROR_DROP_IN_IN_VAIN : ERROR_DROP_IN_UNDONE, .path = u->files[0].path,
		  .name = u->name, .conf = u->variable, .text = now);
	return err_advise(err, FIX_SEE_UNIT, .name = u->name);
}

/* --- the new process --- */

static bool is_there(struct ops_unit *u, const struct ops_options *options, struct err *err)
{
	_cleanup_(free_facts) struct facts *f = NULL;
	char version[64];

	*err = (struct err)ERR_INIT;
	u->opt_prof = TRI_UNKNOWN;
	return !ask(u->name, &f, err) && !find_process(u, f, options, err) &&
	       !look_at(u, options, version, err) && u->opt_prof == TRI_YES;
}

int ops_unit_restart(struct ops_unit *u, const struct ops_options *options, struct err *err)
{
	const char *const args[] = { "restart", "--", u->name, NULL };
	_cleanup_(cleanup_free) char *said = NULL;
	const struct timespec moment = { .tv_nsec = LOOK_AGAIN_MS * 1000000L };
	uint64_t patience = ops_timeout_ms(options), deadline;

	u->process = (struct ops_match){ 0 };
	if (systemctl(args, &said, err)) {
		err_within(err, ERROR_UNIT_NOT_RESTARTED, .name = u->name);
		return err_advise(err, FIX_SEE_JOURNAL, .name = u->name);
	}
	if (!u->enables)
		return 0;
	/*
	 * A service may count as started before its program is, and before jemalloc is initialized.
	 */
	deadline = now_ms() + (patience < STARTED_WITHIN_MS ? patience : STARTED_WITHIN_MS);
	while (!is_there(u, options, err)) {
		if (now_ms() < deadline) {
			nanosleep(&moment, NULL);
			continue;
		}
		if (!err->code)
			err_raise(err,
				  u->opt_prof == TRI_NO ? ERROR_OPT_PROF_FALSE
							: ERROR_OPT_PROF_UNREAD,
				  .pid = u->process.pid, .comm = u->process.comm),
				err_advise(err, FIX_SEE_CHECK, .pid = u->process.pid);
		return err_within(err, ERROR_RESTARTED_WITHOUT, .name = u->name);
	}
	return 0;
}
