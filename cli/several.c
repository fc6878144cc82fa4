// SPDX-License-Identifier: Apache-2.0
#include "cli/several.h"

#include "api/json.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/out.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool several_meant(const struct args *args)
{
	struct ops_filter ignored;

	return args_filter(args, &ignored) || (args->pid && args->n_words);
}

/* --- finding them --- */

static int add(struct several *s, const struct target *t, struct err *err)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].match.pid == t->match.pid)
			return 0;
	}
	if (s->n == PIDS_MAX) {
		err_raise(err, ERROR_TOO_MANY_PROCESSES, .limit = PIDS_MAX);
		return err_advise(err, FIX_NARROW_IT_DOWN);
	}
	s->v[s->n++] = *t;
	return 0;
}

/* A missing process is reported later, as an error of its own. */
static int add_named(struct several *s, pid_t pid, struct err *err)
{
	_cleanup_(proc_close) struct proc p = { 0 };
	struct target t = { .match.pid = pid, .named = true };
	struct err later;

	if (!proc_open(&p, pid, &later)) {
		t.match.start_time = p.start_time;
		memcpy(t.match.comm, p.status.comm, sizeof(t.match.comm));
	}
	return add(s, &t, err);
}

/*
 * Add the matches that use jemalloc. A single match is added whether it does or not: the command
 * reports what it lacks.
 */
static int add_matching(struct several *s, const struct ops_filter *filter, struct err *err)
{
	_cleanup_(ops_match_fini) struct ops_matches found = { 0 };
	const struct args *args = s->args;
	char given[ARGS_FILTER_SIZE];

	if (ops_match(filter, &found, err))
		return -1;
	if (!found.n)
		return args_no_match(args, err);
	if (found.n > 1 && ops_match_jemalloc(&found, args->debuginfod, -1, err))
		return -1;
	if (!found.n) {
		args_filter_text(args, given, sizeof(given));
		if (found.unseen == found.all) {
			err_raise(err, ERROR_ALL_UNSEEN, .number = (int64_t)found.all,
				  .name = given);
			return geteuid() ? err_advise(err, FIX_RUN_AS_ROOT) : -1;
		}
		err_raise(err, ERROR_NONE_USES_JEMALLOC, .number = (int64_t)found.all,
			  .name = given);
		return err_advise(err, FIX_SEE_LIST);
	}
	if (!args->quiet && !args->json && found.n != found.all) {
		fprintf(stderr, "%zu of %zu processes use%s jemalloc", found.n, found.all,
			found.n == 1 ? "s" : "");
		if (found.unseen)
			fprintf(stderr, "; %zu could not be inspected%s", found.unseen,
				geteuid() ? ", root can inspect them all" : "");
		fputc('\n', stderr);
	}
	for (size_t i = 0; i < found.n; i++) {
		const struct target t = { .match = found.v[i], .named = found.all == 1 };

		if (add(s, &t, err))
			return -1;
	}
	return 0;
}

int several_find(const struct args *args, const struct command *command, struct several *out,
		 struct err *err)
{
	struct ops_filter filter;
	int64_t pid;

	*out = (struct several){ .args = args, .command = command };
	out->v = calloc(PIDS_MAX, sizeof(*out->v));
	if (!out->v)
		return err_no_memory(err);
	if (args->pid && add_named(out, (pid_t)args->pid, err))
		return -1;
	for (size_t i = 0; i < args->n_words; i++) {
		if (text_int_parse(args->words[i], 1, INT_MAX, &pid, err))
			return err_within(err, ERROR_IN_PID);
		if (add_named(out, (pid_t)pid, err))
			return -1;
	}
	return args_filter(args, &filter) ? add_matching(out, &filter, err) : 0;
}

void several_fini(const struct several *s)
{
	free(s->v);
}

int several_pids(const struct args *args, pid_t pids[PIDS_MAX], size_t *n, struct err *err)
{
	_cleanup_(several_fini) struct several s = { 0 };

	if (several_find(args, NULL, &s, err))
		return -1;
	for (size_t i = 0; i < s.n; i++)
		pids[i] = s.v[i].match.pid;
	*n = s.n;
	return 0;
}

/* --- one of them --- */

void several_args(const struct several *s, const struct target *t, struct args *one)
{
	*one = *s->args;
	one->pid = t->match.pid;
	one->comm = one->cgroup = NULL;
	one->children = 0;
	one->n_words = 0;
	one->of_several.one = true;
	one->of_several.start_time = t->match.start_time;
	one->of_several.name = t->match.comm;
}

static const char *who(const struct target *t, char *buf, size_t size)
{
	struct ops_cost cost = { .pid = t->match.pid };

	memcpy(cost.comm, t->match.comm, sizeof(cost.comm));
	if (*cost.comm)
		return out_who(&cost, buf, size);
	snprintf(buf, size, "%d", cost.pid);
	return buf;
}

int several_failed(const struct several *s, const struct target *t, const struct err *why)
{
	bool ended = why->code == ERR_NOPROC || why->ids[0] == ERROR_TARGET_ENDED;
	struct err told = *why, unwritten = ERR_INIT;
	char comm[PROC_COMM_SIZE * 4];
	int status;

	if (s->args->json && !out_json(api_error_of(&t->match, &told), &unwritten)) {
		status = err_exit_status(told.code);
	} else {
		if (s->args->json)
			told = unwritten;
		output_safe(t->match.comm, comm, sizeof(comm));
		if (!err_names(&told, t->match.pid))
			err_within(&told, ERROR_IN_PROCESS, .pid = t->match.pid, .comm = comm);
		status = out_error(s->args, &told);
	}
	return ended && !t->named ? SEVERAL_ENDED : status;
}

int several_one(const struct several *s, const struct target *t, const struct args *one)
{
	struct err err = ERR_INIT;
	int ret = s->command->run(one, &err);

	if (ret >= 0 && out_flush(&err))
		ret = -1;
	if (ret >= 0)
		return ret;
	if (err.code != ERR_LOST)
		err_explain(&err);
	return several_failed(s, t, &err);
}

/* --- all of them --- */

int several_begin(const struct several *s, struct err *err)
{
	return s->args->json ? out_line(err, "[") : 0;
}

int several_next(const struct several *s, const struct target *t, const struct tally *tally,
		 struct err *err)
{
	char text[OUT_WHO_SIZE];

	if (s->args->json)
		return tally->n ? out_line(err, ",") : 0;
	if (!s->command->heading || s->n < 2 || s->args->quiet)
		return 0;
	return out_line(err, "%s==> %s <==", tally->n ? "\n" : "", who(t, text, sizeof(text))) ||
			       out_flush(err)
		       ? -1
		       : 0;
}

int several_end(const struct several *s, struct err *err)
{
	return (s->args->json && out_line(err, "]")) || out_flush(err) ? -1 : 0;
}

static const char *status_name(int status)
{
	for (int code = 0; code < ERR_CODES; code++) {
		if (err_exit_status((enum err_code)code) == status)
			return err_code_name((enum err_code)code);
	}
	return err_code_name(ERR_FAILED);
}

void several_count(struct tally *tally, const struct target *t, int status)
{
	size_t used = strlen(tally->list);

	tally->n++;
	if (!status || status == SEVERAL_ENDED)
		return;
	tally->status =
		tally->failed && tally->status != status ? err_exit_status(ERR_FAILED) : status;
	tally->failed++;
	snprintf(tally->list + used, sizeof(tally->list) - used, "%s%d (%s)", used ? ", " : "",
		 t->match.pid, status_name(status));
}

/* A truncated list ends after its last complete entry. */
int several_sum(const struct several *s, const struct tally *tally)
{
	bool cut = strlen(tally->list) == sizeof(tally->list) - 1;
	const char *end = cut ? strrchr(tally->list, ',') : NULL;

	if (tally->failed && s->n > 1 && !s->args->json)
		fprintf(stderr, "%zu of %zu processes failed: %.*s%s\n", tally->failed, s->n,
			(int)(end ? end - tally->list : (long)strlen(tally->list)), tally->list,
			end ? ", ..." : "");
	return tally->status;
}

int several_each(const struct several *s, struct err *err)
{
	struct tally tally = { 0 };
	struct args one;

	if (several_begin(s, err))
		return -1;
	for (size_t i = 0; i < s->n; i++) {
		const struct target *t = &s->v[i];

		if (several_next(s, t, &tally, err))
			return -1;
		several_args(s, t, &one);
		several_count(&tally, t, several_one(s, t, &one));
	}
	return several_end(s, err) ? -1 : several_sum(s, &tally);
}

int several_run(const struct command *command, const struct args *args, struct err *err)
{
	_cleanup_(several_fini) struct several s = { 0 };

	if (several_find(args, command, &s, err))
		return -1;
	/* Refuse to write the output of all to one file. */
	if (s.n > 1 && args->output && !ops_names_folder(args->output)) {
		err_raise(err, ERROR_ONE_FILE, .number = (int64_t)s.n, .path = args->output);
		return err_advise(err, FIX_NAME_A_FOLDER_FOR_ALL);
	}
	if (s.n > 1 && args->in_target && *args->in_target) {
		err_raise(err, ERROR_ONE_FILE, .number = (int64_t)s.n, .path = args->in_target);
		return err_advise(err, FIX_LEAVE_OUT_THE_PATH);
	}
	return command->run_several(&s, err);
}
