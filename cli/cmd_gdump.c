// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/out.h"

#include <string.h>

static const char *const states[] = { "on", "off", NULL };

static const struct option_def options_of_gdump[] = {
	{ "force", 0, VALUE(FLAG, force), NULL, "even though it may hang the process", NULL },
	{ .name = NULL },
};

static int run(const struct args *args, struct err *err)
{
	struct ops_options options;
	struct ops_change change;
	bool on = !strcmp(args->words[0], "on");
	pid_t pid;

	if (!on && strcmp(args->words[0], "off"))
		return err_raise(err, ERROR_NOT_ON_OR_OFF, .text = args->words[0]);
	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) ||
	    ops_gdump(pid, on, args->force, &options, &change, err))
		return -1;
	return out_change(args, "prof.gdump", &change, err);
}

const struct command cmd_gdump = {
	.name = "gdump",
	.words = "PID on|off",
	.help = "have the process dump at every new maximum of its memory",
	.needs_pid = true,
	.min_words = 1,
	.max_words = 1,
	.options = options_of_gdump,
	.choices = states,
	.run = run,
};
