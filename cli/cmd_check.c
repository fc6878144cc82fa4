// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/fixes.h"
#include "cli/out.h"
#include "cli/several.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct option_def options_of_check[] = {
	{ "conf", 0, VALUE(STRING, conf), "STRING",
	  "say what jemalloc would make of this MALLOC_CONF", NULL },
	{ "jemalloc", 0, VALUE(STRING, jemalloc), "VERSION",
	  "with --conf: only this version of jemalloc", NULL },
	{ .name = NULL },
};

static const struct {
	const char *word;
	enum ink ink;
} verdicts[] = {
	[TRI_NO] = { "not ok", INK_RED },
	[TRI_YES] = { "ok", INK_GREEN },
	[TRI_YES + 1] = { "unknown", INK_YELLOW },
	[TRI_YES + 2] = { "warning", INK_YELLOW },
};

static size_t verdict_index(const struct ops_check *c)
{
	if (c->ok == TRI_UNKNOWN)
		return TRI_YES + 1;
	return c->ok == TRI_YES && c->err.fixes[0] ? TRI_YES + 2 : (size_t)c->ok;
}

static int print_one(const struct args *args, const struct ops_check *c, struct err *err)
{
	size_t v = verdict_index(c);
	char safe[2048], fix[ERR_TEXT_SIZE];

	if (out_line(err, "%s%-7s%s %-23s  %s", out_ink(args, STDOUT_FILENO, verdicts[v].ink),
		     verdicts[v].word, out_ink(args, STDOUT_FILENO, INK_NONE), c->name,
		     output_safe(c->detail, safe, sizeof(safe))))
		return -1;
	if (!c->err.fixes[0])
		return 0;
	return out_line(err, "  fix: %s", fix_text(&c->err, fix, sizeof(fix)));
}

static int print_memory(const struct ops_explain *e, struct err *err)
{
	char text[ERR_TEXT_SIZE], fix[ERR_TEXT_SIZE];

	if (out_line(err, "%s", err_text(&e->advice[0], text, sizeof(text))))
		return -1;
	return e->advice[0].fixes[0]
		       ? out_line(err, "  fix: %s", fix_text(&e->advice[0], fix, sizeof(fix)))
		       : 0;
}

static int print_all(const struct args *args, const struct ops_checks *checks, struct err *err)
{
	size_t left_out = 0;

	if (checks->has_memory && print_memory(&checks->memory, err))
		return -1;
	for (size_t i = 0; i < checks->n; i++) {
		left_out += !checks->v[i].made;
		if (checks->v[i].made && print_one(args, &checks->v[i], err))
			return -1;
	}
	if (!left_out)
		return 0;
	return out_line(err, "%zu check%s could not be made", left_out, left_out == 1 ? "" : "s");
}

static const struct {
	const char *word;
	enum ink ink;
} levels[] = {
	[CONF_NOTE] = { "note", INK_NONE },
	[CONF_WARNING] = { "warning", INK_YELLOW },
	[CONF_ERROR] = { "error", INK_RED },
};

static int print_finding(const struct args *args, const struct conf_finding *f, struct err *err)
{
	char safe[2048];

	if (out_line(err, "%s%-7s%s  %s", out_ink(args, STDOUT_FILENO, levels[f->level].ink),
		     levels[f->level].word, out_ink(args, STDOUT_FILENO, INK_NONE),
		     output_safe(f->text, safe, sizeof(safe))))
		return -1;
	if (!f->fix[0])
		return 0;
	return out_line(err, "  fix: %s", output_safe(f->fix, safe, sizeof(safe)));
}

static int print_reading(const struct conf_reading *r, struct err *err)
{
	char from[16], to[16], safe[2048];

	conf_version_text(r->from, from, sizeof(from));
	conf_version_text(r->to, to, sizeof(to));
	output_safe(r->text, safe, sizeof(safe));
	if (r->from == r->to)
		return out_line(err, "jemalloc %s: %s", from, safe);
	return out_line(err, "jemalloc %s to %s: %s", from, to, safe);
}

static int print_conf(const struct args *args, const struct conf_lint *lint, struct err *err)
{
	size_t errors = conf_lint_count(lint, CONF_ERROR);
	size_t warnings = conf_lint_count(lint, CONF_WARNING);

	for (size_t i = 0; i < lint->n; i++) {
		if (print_finding(args, &lint->v[i], err))
			return -1;
	}
	if (lint->dropped && out_line(err, "and %zu more", lint->dropped))
		return -1;
	for (size_t i = 0; i < lint->n_readings; i++) {
		if (print_reading(&lint->readings[i], err))
			return -1;
	}
	if (!errors && !warnings)
		return out_line(err, "ok");
	return out_line(err, "%zu error%s, %zu warning%s", errors, errors == 1 ? "" : "s", warnings,
			warnings == 1 ? "" : "s");
}

/* The process to check for, if one was given. */
static int find_process(const struct args *args, struct ops_conf_request *request, struct err *err)
{
	struct ops_options options;

	args_options(args, &options);
	if ((args->pid || several_meant(args)) && args_pid(args, &options, &request->pid, err))
		return -1;
	request->start_time = options.start_time;
	return 0;
}

static int run_conf(const struct args *args, struct err *err)
{
	_cleanup_(cleanup_free) struct ops_conf *conf = calloc(1, sizeof(*conf));
	struct ops_conf_request request = { .text = args->conf, .version = args->jemalloc };

	if (!conf)
		return err_no_memory(err);
	if (find_process(args, &request, err) || ops_conf(&request, conf, err) ||
	    (args->json ? out_json(api_conf(args->conf, conf), err)
			: print_conf(args, &conf->lint, err)))
		return -1;
	return conf_lint_count(&conf->lint, CONF_ERROR) ? err_exit_status(ERR_USAGE) : 0;
}

static int run(const struct args *args, struct err *err)
{
	struct ops_options options;
	struct ops_checks checks;
	pid_t pid;

	if (args->conf && args->jemalloc && (args->pid || several_meant(args)))
		return err_raise(err, ERROR_EXCLUSIVE, .name = "PID", .what = "--jemalloc",
				 .text = "a process has its own jemalloc");
	if (args->conf)
		return args->n_words ? err_raise(err, ERROR_WORD_TOO_MANY, .name = "check --conf",
						 .text = args->words[0])
				     : run_conf(args, err);
	if (args->jemalloc)
		return err_raise(err, ERROR_JEMALLOC_WITHOUT_CONF);
	if (!args->pid)
		return args_no_pid(&cmd_check, err);
	args_options(args, &options);
	if (args_pid(args, &options, &pid, err))
		return -1;
	ops_check(pid, &options, &checks);
	out_warning(args, &checks.no_memory);
	out_cost(args, &checks.cost);
	if (args->json) {
		if (out_json(api_check(&checks), err))
			return -1;
		return err_exit_status(ops_checks_code(&checks));
	}
	if (print_all(args, &checks, err) ||
	    out_line(err, "%s", checks.ready ? "ready" : "not ready"))
		return -1;
	return err_exit_status(ops_checks_code(&checks));
}

const struct command cmd_check = {
	.name = "check",
	.words = "PID...",
	.help = "check whether a process can be profiled, and change nothing",
	.options = options_of_check,
	.needs_pid = true,
	.heading = true,
	.pid_optional = true,
	.max_words = WORDS_MAX,
	.run = run,
	.run_several = several_each,
};
