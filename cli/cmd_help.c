// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

static int run(const struct args *args, struct err *err)
{
	const struct command *command;

	if (!args->n_words)
		return help_all(err);
	command = args_command(args->words[0], err);
	return command ? help_command(command, err) : -1;
}

const struct command cmd_help = {
	.name = "help",
	.words = "[COMMAND]",
	.help = "show the options of a command, or all commands",
	.max_words = 1,
	.run = run,
};
