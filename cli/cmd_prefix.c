// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "cli/commands.h"
#include "cli/out.h"

static int run(const struct args *args, struct err *err)
{
	struct ops_options options;
	struct ops_prefix prefix;
	char who[OUT_WHO_SIZE];
	pid_t pid;

	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) ||
	    ops_prefix(pid, args->words[0], &options, &prefix, err))
		return -1;
	out_warning(args, &prefix.warning);
	out_cost(args, &prefix.cost);
	if (!args->json)
		return out_line(err, "prof.prefix is now %s in %s", args->words[0],
				out_who(&prefix.cost, who, sizeof(who)));
	return out_json(api_prefix(args->words[0], &prefix), err);
}

const struct command cmd_prefix = {
	.name = "prefix",
	.words = "PID PATH",
	.help = "set where the process writes its own dumps (jemalloc 5.3.0 or later)",
	.needs_pid = true,
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
