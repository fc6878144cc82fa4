// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/cleanup.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/fixes.h"
#include "cli/guarding.h"
#include "cli/out.h"
#include "io/memory_file.h"
#include "io/output.h"
#include "ops/guard/guard.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct option_def options_of_guard[] = {
	{ "when", 0, VALUE(TEXTS, when), "RULE",
	  "take a profile on 'rss>80%', 'cgroup>90%' (the defaults), 'growth>25%/10m', "
	  "'psi>150ms/1s', "
	  "event:high, 'every 10m'; may be repeated",
	  NULL },
	{ "do", 0, VALUE(STRING, action), "ACTION",
	  "how: dump, 'record 30s' or 'sample 30s', which needs no prof:true (dump)", NULL },
	{ "all", 0, VALUE(FLAG, all), NULL, "every process, including those that start later",
	  NULL },
	{ "activate", 0, VALUE(FLAG, turn_on), NULL, "turn profiling on where it is off", NULL },
	{ "output", 'o', VALUE(FILE, output), "FOLDER",
	  "write profiles to FOLDER (the current one)", NULL },
	{ "keep", 0, VALUE(INT, kept), "N",
	  "keep the newest N profiles of each process; 0: all (5)", NULL },
	{ "max-bytes", 0, VALUE(SIZE, max_bytes), "SIZE",
	  "keep the newest profiles of all guards in FOLDER, up to SIZE (1G)", NULL },
	{ "cooldown", 0, VALUE(DURATION, cooldown_ms), "D",
	  "take no second profile of a process by the same rule within D (10m), ...", NULL },
	{ "again", 0, VALUE(INT, again), "N",
	  "... unless its memory has grown by N % since; 0: never (10)", NULL },
	{ "interval", 0, VALUE(DURATION, interval_ms), "D",
	  "check memory that is far from its threshold every D (1s)", NULL },
	{ "for", 0, VALUE(DURATION, for_ms), "D", "end after D", NULL },
	{ "count", 0, VALUE(INT, count), "N", "end after N profiles", NULL },
	{ "on-profile", 0, VALUE(STRING, on_event), "CMD",
	  "run CMD with sh for each profile, described in its environment", NULL },
	{ "on-profile-exec", 0, VALUE(FILE, on_event_exec), "PROGRAM",
	  "the same without a shell: run PROGRAM without arguments", NULL },
	{ .name = NULL },
};

#define FILE_SHOWN 4096
#define LINE_FORMAT "%-9s  %-24s  %-15s  %-15s  %8s  %7s  %s"

/* Context of the callbacks. */
struct guarding {
	const struct args *args;
	enum ops_guard_action action;
	bool by_default;  /* no rule was given */
	uint64_t dropped; /* lines that nothing read */
	uint64_t told;	  /* how many of these were reported */
};

static bool may_say(const struct args *args)
{
	return !args->quiet && out_is_read(STDERR_FILENO, PIPE_BUF);
}

static void say_dropped(struct guarding *g)
{
	if (g->dropped == g->told || !may_say(g->args))
		return;
	fprintf(stderr, "%" PRIu64 " line%s dropped\n", g->dropped - g->told,
		g->dropped - g->told == 1 ? " was" : "s were");
	g->told = g->dropped;
}

/* Drop the line rather than let a stalled reader block guarding. */
static int say(struct guarding *g, const char *line, struct err *err)
{
	if (!out_is_read(STDOUT_FILENO, strlen(line) + 1)) {
		g->dropped++;
		return 0;
	}
	say_dropped(g);
	return out_line(err, "%s", line) || out_flush(err) ? -1 : 0;
}

static int print_row(struct guarding *g, const struct ops_guard_event *e, struct err *err)
{
	_cleanup_(cleanup_free) char *line = NULL;
	const struct args *args = g->args;
	char when[32], who[OUT_WHO_SIZE], rule[64], level[40], bytes[16], took[24], limit[16],
		file[FILE_SHOWN], text[ERR_TEXT_SIZE];
	struct ops_cost cost = { .pid = e->pid };
	size_t used;
	struct tm tm;

	strftime(when, sizeof(when), "%H:%M:%SZ", gmtime_r(&e->time.tv_sec, &tm));
	memcpy(cost.comm, e->comm, sizeof(cost.comm));
	used = strlen(text_size(e->level, level, sizeof(level)));
	if (e->limit)
		snprintf(level + used, sizeof(level) - used, " of %s",
			 text_size(e->limit, limit, sizeof(limit)));
	snprintf(took, sizeof(took), "%" PRIu64 "ms", e->took_ms);
	if (asprintf(&line, "%s" LINE_FORMAT "%s",
		     out_ink(args, STDOUT_FILENO, e->ok ? INK_NONE : INK_RED), when,
		     out_who(&cost, who, sizeof(who)),
		     output_safe(e->rule->text, rule, sizeof(rule)), level,
		     e->ok ? text_size(e->bytes, bytes, sizeof(bytes)) : "failed", took,
		     e->ok ? output_safe(e->file, file, sizeof(file))
			   : err_text(&e->err, text, sizeof(text)),
		     out_ink(args, STDOUT_FILENO, INK_NONE)) < 0) {
		line = NULL;
		return err_no_memory(err);
	}
	return say(g, line, err);
}

static int print_document(FILE *out, const void *ctx, struct err *err)
{
	struct json_object *doc = (struct json_object *)ctx;

	return out_json_to(out, json_object_get(doc), err);
}

/* Write what was known when the profile was taken beside it, as STEM.json. */
static int write_beside(struct json_object *doc, const char *file, struct err *err)
{
	_cleanup_(output_close) struct output o = OUTPUT_INIT;
	_cleanup_(cleanup_close) int fd = -1;
	char path[PATH_MAX];
	uint64_t bytes;

	snprintf(path, sizeof(path), "%.*s.json", (int)text_stem(file, ".heap"), file);
	return memory_file_write(print_document, doc, &fd, &bytes, err) ||
			       output_open(&o, path, false, err) ||
			       output_commit(&o, fd, bytes, 0, err)
		       ? -1
		       : 0;
}

static int on_event(void *ctx, const struct ops_guard_event *e, struct err *err)
{
	_cleanup_(json_close) struct json_object *doc = NULL;
	struct err unwritten = ERR_INIT;
	struct guarding *g = ctx;
	char fix[ERR_TEXT_SIZE];

	doc = api_guard_event(e, g->action);
	if (e->ok && write_beside(doc, e->file, &unwritten) && may_say(g->args))
		out_warning(g->args, &unwritten);
	if (g->args->json)
		return say(g,
			   json_object_to_json_string_ext(
				   doc, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			   err);
	if (e->ok && e->err.ids[0] && may_say(g->args))
		out_warning(g->args, &e->err);
	/* The fix alone: the row has the error. */
	if (!e->ok && e->err.fixes[0] && may_say(g->args))
		fprintf(stderr, "  fix: %s\n", fix_text(&e->err, fix, sizeof(fix)));
	return print_row(g, e, err);
}

static int on_ready(void *ctx, size_t processes, struct err *err)
{
	struct guarding *g = ctx;
	const struct args *args = g->args;
	struct ops_filter ignored;
	char line[256];

	if (may_say(args))
		fprintf(stderr, "guarding %zu process%s%s\n", processes, processes == 1 ? "" : "es",
			args->all || args_filter(args, &ignored) ? ", and any that start later"
								 : "");
	if (args->json)
		return 0;
	snprintf(line, sizeof(line), LINE_FORMAT, "TIME", "PROCESS", "RULE", "MEMORY", "PROFILE",
		 "TOOK", "FILE");
	return say(g, line, err);
}

static void on_warning(void *ctx, const struct err *warning)
{
	const struct guarding *g = ctx;

	if ((!g->by_default || warning->ids[0] != ERROR_RULE_UNSEEN) &&
	    out_is_read(STDERR_FILENO, PIPE_BUF))
		out_warn((void *)g->args, warning);
}

static int find_named(const struct args *args, struct ops_match *named, size_t *n, struct err *err)
{
	*n = 0;
	for (size_t i = 0; i < args->n_words + 1; i++) {
		_cleanup_(proc_close) struct proc p = { 0 };
		int64_t pid = args->pid;

		if (i && text_int_parse(args->words[i - 1], 1, INT_MAX, &pid, err))
			return err_within(err, ERROR_IN_PID);
		if (!pid)
			continue;
		if (proc_open(&p, (pid_t)pid, err))
			return -1;
		named[*n] = (struct ops_match){ p.pid, p.start_time, "" };
		memcpy(named[(*n)++].comm, p.status.comm, PROC_COMM_SIZE);
	}
	return 0;
}

static int guard(const struct args *args, const struct ops_guard_request *request, struct err *err)
{
	_cleanup_(signals_close) struct signals stop = SIGNALS_INIT;
	struct ops_guard_summary sum = { 0 };
	struct ops_options options;
	int ret;

	args_options(args, &options);
	if (signals_open(&stop, err))
		return -1;
	options.stop_fd = stop.fd;
	ret = ops_guard(request, &options, &sum, err);
	say_dropped(request->ctx);
	if (may_say(args) && (!ret || sum.profiles))
		fprintf(stderr, "%" PRIu64 " profile%s, %" PRIu64 " failed%s\n", sum.profiles,
			sum.profiles == 1 ? "" : "s", sum.failed,
			sum.none_left ? "; no process is left" : "");
	if (may_say(args) && (sum.skipped || sum.commands_failed))
		fprintf(stderr,
			"%" PRIu64 " commands failed, %" PRIu64 " were not run: too many were "
			"waiting\n",
			sum.commands_failed, sum.skipped);
	return ret;
}

static int run(const struct args *args, struct err *err)
{
	_cleanup_(cleanup_free) struct ops_match *named = calloc(PIDS_MAX, sizeof(*named));
	struct guard_rule rules[TEXTS_MAX];
	struct ops_guard_request request;
	struct guarding g;
	const char *given = args->output ? args->output : ".";
	char folder[PATH_MAX];
	struct ops_filter filter = { 0 };

	if (!named)
		return err_no_memory(err);
	if (guard_request(args, rules, &request, err) ||
	    find_named(args, named, &request.n_named, err) ||
	    guard_processes(args, &filter, &request, err))
		return -1;
	/* Always with a trailing "/". */
	snprintf(folder, sizeof(folder), "%s%s", given, ops_names_folder(given) ? "" : "/");
	request.folder = folder;
	request.named = named;
	request.out_fd = STDOUT_FILENO;
	request.ready = on_ready;
	request.event = on_event;
	request.on_warning = on_warning;
	g = (struct guarding){ args, request.action, !args->when.n, 0, 0 };
	request.ctx = &g;
	return guard(args, &request, err);
}

const struct command cmd_guard = {
	.name = "guard",
	.words = "[PID...]",
	.help = "take a profile when memory is about to run out, before the OOM killer comes",
	.options = options_of_guard,
	.pid_by_option = true,
	.stays = true,
	.max_words = WORDS_MAX,
	.run = run,
};
