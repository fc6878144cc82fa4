// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/report.h"

static const struct option_def options_of_convert[] = {
	{ "format", 'f', VALUE(STRING, report_format), "FORMAT",
	  "write this format instead of that of OUT's suffix", report_formats },
	OPTION_MAX_STACKS,
	{ "force", 0, VALUE(FLAG, force), NULL, "replace an existing file", NULL },
	{ "inuse-objects", 0, VALUE(FLAG, inuse_objects), NULL,
	  "count objects, in formats that hold only one count", NULL },
	{ "keep-allocator", 0, VALUE(FLAG, keep_allocator), NULL,
	  "keep calls within malloc and the like", NULL },
	{ "root", 0, VALUE(FILE, root), "DIR", "look for programs and libraries below DIR", NULL },
	{ "trust-images", 0, VALUE(FLAG, trust_images), NULL,
	  "take names from files that cannot be verified to be the mapped ones", NULL },
	{ .name = NULL },
};

static int run(const struct args *args, struct err *err)
{
	struct args to = *args;

	if (args->json)
		return err_raise(err, ERROR_CONVERT_HAS_NO_JSON);
	to.output = args->words[1];
	return report_infer_format(&to, err)
		       ? -1
		       : report_run(&to, args->words, 1, to.report_format, err);
}

const struct command cmd_convert = {
	.name = "convert",
	.words = "IN OUT",
	.help = "write a heap profile in another format",
	.options = options_of_convert,
	.min_words = 2,
	.max_words = 2,
	.run = run,
};
