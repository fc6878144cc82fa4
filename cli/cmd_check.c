// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "cli/commands.h"
#include "cli/out.h"

#include <unistd.h>

static const struct {
	const char *word;
	enum ink ink;
} verdicts[] = {
	[TRI_NO] = { "not ok", INK_RED },
	[TRI_YES] = { "ok", INK_GREEN },
	[TRI_YES + 1] = { "unknown", INK_YELLOW },
};

static size_t verdict_index(enum tristate ok)
{
	return ok == TRI_UNKNOWN ? TRI_YES + 1 : (size_t)ok;
}

static int print_one(const struct args *args, const struct ops_check *c, struct err *err)
{
	size_t v = verdict_index(c->ok);
	char safe[2048];

	if (out_line(err, "%s%-7s%s %-23s  %s", out_ink(args, STDOUT_FILENO, verdicts[v].ink),
		     verdicts[v].word, out_ink(args, STDOUT_FILENO, INK_NONE), c->name,
		     output_safe(c->detail, safe, sizeof(safe))))
		return -1;
	if (!c->fix[0])
		return 0;
	return out_line(err, "  fix: %s", output_safe(c->fix, safe, sizeof(safe)));
}

static struct json_object *one_json(const struct ops_check *c)
{
	struct json_object *o = json_object_new_object();

	json_set_text(o, "name", c->name);
	json_set(o, "ok", c->ok == TRI_UNKNOWN ? NULL : json_object_new_boolean(c->ok == TRI_YES));
	json_set_text(o, "detail", c->detail);
	json_set_text(o, "fix", c->fix[0] ? c->fix : NULL);
	return o;
}

static int print_json(const struct ops_checks *checks, struct err *err)
{
	struct json_object *doc = json_object_new_object();
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < checks->n; i++)
		json_object_array_add(list, one_json(&checks->v[i]));
	json_set_int(doc, "pid", checks->cost.pid);
	json_set_bool(doc, "ready", checks->ready);
	json_set(doc, "checks", list);
	json_set_u64(doc, "pause_us", checks->cost.pause_us);
	return out_json(doc, err);
}

static int run(const struct args *args, struct err *err)
{
	struct ops_options options;
	struct ops_checks checks;
	pid_t pid;

	args_options(args, &options);
	if (args_pid(args, &pid, err))
		return -1;
	ops_check(pid, &options, &checks);
	out_cost(args, &checks.cost);
	if (args->json) {
		if (print_json(&checks, err))
			return -1;
		return err_exit_status(ops_checks_code(&checks));
	}
	for (size_t i = 0; i < checks.n; i++) {
		if (print_one(args, &checks.v[i], err))
			return -1;
	}
	if (out_line(err, "%s", checks.ready ? "ready" : "not ready"))
		return -1;
	return err_exit_status(ops_checks_code(&checks));
}

const struct command cmd_check = {
	.name = "check",
	.words = "PID",
	.help = "make all checks that come before profiling, and change nothing",
	.needs_pid = true,
	.run = run,
};
