// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/several.h"

static int run(const struct args *args, struct err *err)
{
	struct ops_options options;
	struct ops_change change;
	pid_t pid;

	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) || ops_deactivate(pid, &options, &change, err))
		return -1;
	return out_change(args, "prof.active", &change, err);
}

const struct command cmd_deactivate = {
	.name = "deactivate",
	.words = "PID...",
	.help = "stop sampling; earlier samples stay in the profile",
	.needs_pid = true,
	.max_words = WORDS_MAX,
	.run = run,
	.run_several = several_each,
};
