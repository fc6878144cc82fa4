// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/growth.h"
#include "cli/out.h"

static int print_json(const struct args *args, const struct ops_diff *diff, struct err *err)
{
	struct json_object *doc = json_object_new_object();

	json_set_text(doc, "before", args->words[0]);
	json_set_text(doc, "after", args->words[1]);
	growth_json(doc, diff);
	return out_json(doc, err);
}

static int run(const struct args *args, struct err *err)
{
	_cleanup_(ops_diff_fini) struct ops_diff diff = { 0 };
	const struct ops_symbolise_options symbols = growth_symbols(args);

	if (ops_diff(args->words[0], args->words[1], &symbols, &diff, err))
		return -1;
	return args->json ? print_json(args, &diff, err) : growth_print(args, &diff, err);
}

const struct command cmd_diff = {
	.name = "diff",
	.words = "BEFORE AFTER",
	.help = "show what grew from one heap profile to another",
	.min_words = 2,
	.max_words = 2,
	.run = run,
};
