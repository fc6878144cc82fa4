// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/several.h"

static const struct option_def options_of_activate[] = {
	{ "force", 0, VALUE(FLAG, force), NULL,
	  "even where sampling is known to crash or hang programs", NULL },
	{ .name = NULL },
};

static int run(const struct args *args, struct err *err)
{
	struct ops_options options;
	struct ops_change change;
	pid_t pid;

	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) ||
	    ops_activate(pid, args->force, &options, &change, err))
		return -1;
	return out_change(args, "prof.active", &change, err);
}

const struct command cmd_activate = {
	.name = "activate",
	.words = "PID...",
	.help = "start sampling allocations",
	.options = options_of_activate,
	.needs_pid = true,
	.max_words = WORDS_MAX,
	.run = run,
	.run_several = several_each,
};
