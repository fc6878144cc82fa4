// SPDX-License-Identifier: Apache-2.0
/* enable and disable first show what they are about to change, and ask for confirmation. */
#include "api/json.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct option_def options_of_enable[] = {
	{ "conf", 0, VALUE(STRING, conf), "STRING", "use these jemalloc options (" UNIT_CONF ")",
	  NULL },
	{ "runtime", 0, VALUE(FLAG, runtime), NULL, "only until the next boot", NULL },
	{ "restart", 0, VALUE(FLAG, restart), NULL,
	  "restart the service, and check that opt.prof is true in it", NULL },
	{ "yes", 'y', VALUE(FLAG, yes), NULL, "do it without asking", NULL },
	{ "dry-run", 'n', VALUE(FLAG, dry_run), NULL, "only show what would be changed", NULL },
	{ "force", 0, VALUE(FLAG, force), NULL, "even if its jemalloc has no profiling", NULL },
	{ .name = NULL },
};

static const struct option_def options_of_disable[] = {
	{ "restart", 0, VALUE(FLAG, restart), NULL, "restart the service", NULL },
	{ "yes", 'y', VALUE(FLAG, yes), NULL, "do it without asking", NULL },
	{ "dry-run", 'n', VALUE(FLAG, dry_run), NULL, "only show what would be changed", NULL },
	{ .name = NULL },
};

/* --- the difference, as diff -u shows it --- */

/* A text split into lines, which keep their newlines. */
struct lines {
	const char *at;
	size_t n;
};

static struct lines lines_of(const char *text)
{
	struct lines l = { .at = text ? text : "" };

	for (const char *c = l.at; *c; c++)
		l.n += *c == '\n' || !c[1];
	return l;
}

static const char *next_line(const char *at)
{
	at += strcspn(at, "\n");
	return at + (*at == '\n');
}

static bool is_same_line(const char *a, const char *b)
{
	size_t len = strcspn(a, "\n");

	return *a && len == strcspn(b, "\n") && !memcmp(a, b, len);
}

/* Print `n` lines, each prefixed with `mark`. Returns the text after them; NULL on error. */
static const char *print_lines(const struct args *args, char mark, const char *at, size_t n,
			       struct err *err)
{
	enum ink ink = mark == '+' ? INK_GREEN : mark == '-' ? INK_RED : INK_NONE;

	for (; n && at; n--, at = next_line(at)) {
		char line[2 * UNIT_VALUE_SIZE], safe[OUTPUT_SAFE_SIZE(sizeof(line))];

		snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
		if (out_line(err, "%s%c%s%s", out_ink(args, STDOUT_FILENO, ink), mark,
			     output_safe(line, safe, sizeof(safe)),
			     out_ink(args, STDOUT_FILENO, INK_NONE)))
			return NULL;
	}
	return at;
}

/* Our files have a few lines: all from the first difference on are one hunk. */
static int print_diff(const struct args *args, const struct ops_unit_file *f, struct err *err)
{
	struct lines before = lines_of(f->before), after = lines_of(f->after);
	const char *old = before.at, *new = after.at, *rest = old;
	size_t same = 0;

	for (; is_same_line(old, new); old = next_line(old), new = next_line(new))
		same++;
	if (out_line(err, "--- %s", f->before ? f->path : "/dev/null") ||
	    out_line(err, "+++ %s", f->after ? f->path : "/dev/null") ||
	    out_line(err, "@@ -%d,%zu +%d,%zu @@", before.n != 0, before.n, after.n != 0, after.n))
		return -1;
	rest = print_lines(args, ' ', rest, same, err);
	if (!rest || !print_lines(args, '-', old, before.n - same, err) ||
	    !print_lines(args, '+', new, after.n - same, err))
		return -1;
	return 0;
}

static int print_plan(const struct args *args, const struct ops_unit *u, struct err *err)
{
	char safe[OUTPUT_SAFE_SIZE(UNIT_VALUE_SIZE)];

	for (size_t i = 0; i < u->n_files; i++)
		if (ops_unit_file_changes(&u->files[i]) && print_diff(args, &u->files[i], err))
			return -1;
	if (!u->enables)
		return 0;
	return out_line(err, "%s starts with %s=%s from then on: %s", u->name, u->variable,
			output_safe(u->value, safe, sizeof(safe)),
			u->samples ? "it is sampled from its start"
				   : "nothing is sampled until activate or record");
}

/* systemctl restart would start a stopped service, which disable must not do. */
static bool restarts(const struct args *args, const struct ops_unit *u)
{
	return args->restart && (u->enables || u->runs);
}

/* --- the question --- */

/* 0: go ahead; else what run() returns. */
static int ask(const struct args *args, const struct ops_unit *u, struct err *err)
{
	char answer[16];

	if (args->yes)
		return 0;
	if (args->json || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return err_raise(err, ERROR_NO_ONE_TO_ASK), err_advise(err, FIX_SAY_YES);
	if (out_flush(err))
		return -1;
	if (ops_unit_changes(u))
		fprintf(stderr, "%s it, and ", u->enables ? "write" : "remove");
	if (ops_unit_reloads(u))
		fputs("have systemd read its units again (daemon-reload)", stderr);
	if (restarts(args, u))
		fprintf(stderr, "%s%s %s now", ops_unit_reloads(u) ? ", and " : "",
			u->runs ? "restart" : "start", u->name);
	fputs("? [y/N] ", stderr);
	if (fgets(answer, sizeof(answer), stdin) && strchr("yY", *answer) && *answer)
		return 0;
	fputs("nothing was changed\n", stderr);
	return err_exit_status(ERR_FAILED);
}

/* --- the result --- */

static int print_unchanged(const struct ops_unit *u, struct err *err)
{
	if (!u->enables)
		return out_line(err, "%s is not enabled by jeprof-ctl", u->name);
	if (u->unread)
		return out_line(err, "%s is already written, but systemd has not read it",
				u->files[0].path);
	if (u->runs && u->opt_prof == TRI_NO)
		return out_line(err,
				"%s is already enabled, but was started before that; restart it: "
				"systemctl restart %s",
				u->name, u->name);
	return out_line(err, "%s is already enabled", u->name);
}

static int carry_out(const struct args *args, struct ops_unit *u, struct err *err)
{
	const bool restart = restarts(args, u);
	struct ops_cost cost = { 0 };
	struct ops_options options;
	char who[OUT_WHO_SIZE];
	const char *done;
	int ret;

	args_options(args, &options);
	ret = ops_unit_reloads(u) || restart ? ask(args, u, err) : 0;
	if (ret)
		return ret;
	if (ops_unit_carry_out(u, err) || (restart && ops_unit_restart(u, &options, err)))
		return -1;
	if (args->json)
		return out_json(api_unit(u, true, restart), err);
	if (restart) {
		if (!u->enables)
			return out_line(err, "%s was restarted", u->name);
		cost.pid = u->process.pid;
		memcpy(cost.comm, u->process.comm, sizeof(cost.comm));
		return out_line(err, "%s was restarted: opt.prof is true in %s", u->name,
				out_who(&cost, who, sizeof(who)));
	}
	if (!ops_unit_reloads(u))
		return print_unchanged(u, err);
	done = u->unread ? "read" : u->enables ? "written" : "removed";
	if (!u->runs)
		return out_line(err, "%s; %s is not running", done, u->name);
	return out_line(err,
			"%s; it takes effect when the service is restarted: systemctl restart %s",
			done, u->name);
}

static int show_and_do(const struct args *args, struct ops_unit *u, struct err *err)
{
	if (!args->json) {
		for (size_t i = 0; i < u->n_notes; i++)
			out_warning(args, &u->notes[i]);
		if (ops_unit_changes(u) && print_plan(args, u, err))
			return -1;
	}
	if (!args->dry_run)
		return carry_out(args, u, err);
	if (args->json)
		return out_json(api_unit(u, false, false), err);
	return ops_unit_changes(u) ? 0 : print_unchanged(u, err);
}

static struct ops_unit_request request_of(const struct args *args)
{
	return (struct ops_unit_request){ .unit = args->words[0],
					  .conf = args->conf,
					  .runtime = args->runtime,
					  .force = args->force };
}

static int run_enable(const struct args *args, struct err *err)
{
	_cleanup_(ops_unit_fini) struct ops_unit u = { .n_files = 0 };
	const struct ops_unit_request request = request_of(args);
	struct ops_options options;

	args_options(args, &options);
	return ops_unit_enable(&request, &options, &u, err) ? -1 : show_and_do(args, &u, err);
}

static int run_disable(const struct args *args, struct err *err)
{
	_cleanup_(ops_unit_fini) struct ops_unit u = { .n_files = 0 };
	const struct ops_unit_request request = request_of(args);

	return ops_unit_disable(&request, &u, err) ? -1 : show_and_do(args, &u, err);
}

const struct command cmd_enable = {
	.name = "enable",
	.words = "UNIT",
	.help = "make a systemd service start with profiling available, by a drop-in",
	.options = options_of_enable,
	.min_words = 1,
	.max_words = 1,
	.run = run_enable,
};

const struct command cmd_disable = {
	.name = "disable",
	.words = "UNIT",
	.help = "remove that drop-in",
	.options = options_of_disable,
	.min_words = 1,
	.max_words = 1,
	.run = run_disable,
};
