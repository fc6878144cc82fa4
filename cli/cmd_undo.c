// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/several.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_line(const struct args *args, const struct ops_undone *u, struct err *err)
{
	const struct ops_cost named = { .pid = u->pid };
	char who[OUT_WHO_SIZE], text[ERR_TEXT_SIZE];
	struct ops_cost cost = named;

	memcpy(cost.comm, u->comm, sizeof(cost.comm));
	out_cost(args, &u->cost);
	if (*u->comm)
		out_who(&cost, who, sizeof(who));
	else
		snprintf(who, sizeof(who), "%d", u->pid);
	switch (u->how) {
	case OPS_UNDO_NOTHING:
		return out_line(err, "%s: there was nothing to put back", who);
	case OPS_UNDO_ENDED:
		return out_line(err, "%s: it has ended, there is nothing to put back", who);
	case OPS_UNDO_DONE:
		if (u->sampler)
			return out_line(err, "%s: it is no longer sampled", who);
		return out_line(err, "%s: %s%s", who,
				u->active ? "profiling is off again"
				: u->kept ? "profiling is left as it is"
					  : "profiling was off already",
				u->rate ? "; the sample rate is as it was" : "");
	case OPS_UNDO_RUNNING:
	case OPS_UNDO_FAILED:
		break;
	}
	return out_line(err, "%s: %s", who, err_text(&u->why, text, sizeof(text)));
}

static int print(const struct args *args, const struct ops_undone *v, size_t n, struct err *err)
{
	if (args->json)
		return out_json(api_undo(v, n), err);
	if (!n)
		return args->quiet ? 0 : out_line(err, "no recording left anything to put back");
	for (size_t i = 0; i < n; i++) {
		if (print_line(args, &v[i], err))
			return -1;
	}
	return 0;
}

static int run_all(const struct args *args, const struct ops_options *options, struct err *err)
{
	_cleanup_(ops_undo_fini) struct ops_undo undo = { 0 };
	int status = 0;

	if (ops_undo_all(options, &undo, err) || print(args, undo.v, undo.n, err))
		return -1;
	for (size_t i = 0; i < undo.n && !status; i++) {
		if (undo.v[i].how == OPS_UNDO_FAILED)
			status = err_exit_status(undo.v[i].why.code);
	}
	return status;
}

static int run(const struct args *args, struct err *err)
{
	struct ops_undone undone = { 0 };
	struct ops_options options;
	pid_t pid;

	args_options(args, &options);
	if (!args->pid)
		return run_all(args, &options, err);
	if (args_pid(args, &options, &pid, err) || ops_undo(pid, &options, &undone, err))
		return -1;
	return print(args, &undone, 1, err);
}

/* One document for all, as without a process. */
static int run_several(const struct several *s, struct err *err)
{
	_cleanup_(ops_undo_fini) struct ops_undo undo = { .v = calloc(s->n, sizeof(*undo.v)) };
	struct ops_options options;
	struct tally tally = { 0 };

	if (!undo.v)
		return err_no_memory(err);
	args_options(s->args, &options);
	for (; undo.n < s->n; undo.n++) {
		struct ops_undone *one = &undo.v[undo.n];
		const struct target *t = &s->v[undo.n];

		options.start_time = t->match.start_time;
		if (ops_undo(t->match.pid, &options, one, &one->why)) {
			one->pid = t->match.pid;
			memcpy(one->comm, t->match.comm, sizeof(one->comm));
			one->how = one->why.code == ERR_BUSY ? OPS_UNDO_RUNNING : OPS_UNDO_FAILED;
		}
		several_count(&tally, t, err_exit_status(one->why.code));
	}
	return print(s->args, undo.v, undo.n, err) ? -1 : several_sum(s, &tally);
}

const struct command cmd_undo = {
	.name = "undo",
	.words = "[PID...]",
	.help = "put back what killed recordings changed",
	.needs_pid = true,
	.pid_optional = true,
	.max_words = WORDS_MAX,
	.run = run,
	.run_several = run_several,
};
