// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "cli/commands.h"
#include "cli/out.h"

static int run(const struct args *args, struct err *err)
{
	const char *text = args->n_words > 1 ? args->words[1] : NULL;
	char before[OUT_VALUE_SIZE], after[OUT_VALUE_SIZE], who[OUT_WHO_SIZE];
	struct ops_options options;
	struct ops_set set;
	pid_t pid;

	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) ||
	    ops_set(pid, args->words[0], text, &options, &set, err))
		return -1;
	out_cost(args, &set.cost);
	if (args->json)
		return out_json(api_set(&set), err);
	if (!set.readable)
		return out_line(err, "%s was written in %s", args->words[0],
				out_who(&set.cost, who, sizeof(who)));
	return out_line(err, "%s: %s -> %s", args->words[0],
			out_value(&set.before, before, sizeof(before)),
			out_value(&set.after, after, sizeof(after)));
}

const struct command cmd_set = {
	.name = "set",
	.words = "PID NAME [VALUE]",
	.help = "write one mallctl value by name",
	.needs_pid = true,
	.min_words = 1,
	.max_words = 2,
	.run = run,
};
