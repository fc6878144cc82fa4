// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "cli/commands.h"
#include "cli/out.h"

static int run(const struct args *args, struct err *err)
{
	struct ops_value values[OPS_NAMES_MAX];
	struct ops_options options;
	char text[OUT_VALUE_SIZE];
	struct ops_cost cost;
	pid_t pid;

	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) ||
	    ops_get(pid, args->words, args->n_words, &options, values, &cost, err))
		return -1;
	out_cost(args, &cost);
	if (args->json)
		return out_json(api_get(values, args->n_words, &cost), err);
	for (size_t i = 0; i < args->n_words; i++) {
		out_value(&values[i], text, sizeof(text));
		if (args->quiet ? out_line(err, "%s", text)
				: out_line(err, "%s: %s", values[i].name, text))
			return -1;
	}
	return 0;
}

const struct command cmd_get = {
	.name = "get",
	.words = "PID NAME...",
	.help = "read mallctl values by name",
	.needs_pid = true,
	.min_words = 1,
	.max_words = OPS_NAMES_MAX,
	.run = run,
};
