// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/growth.h"
#include "cli/out.h"
#include "cli/report.h"
#include "profile/format.h"

#include <string.h>
#include <unistd.h>

static const struct option_def options_of_diff[] = {
	{ "format", 'f', VALUE(STRING, report_format), "FORMAT",
	  "write it as pprof, folded, html, svg, ...", report_formats + REPORT_FORMATS_ONLY },
	{ "output", 'o', VALUE(FILE, output), "FILE", "where to put that (stdout)", NULL },
	{ "force", 0, VALUE(FLAG, force), NULL, "replace a file that exists", NULL },
	{ "root", 0, VALUE(FILE, root), "DIR", "look for programs and libraries below DIR", NULL },
	{ "no-cache", 0, VALUE(FLAG, no_cache), NULL, "look all names up anew", NULL },
	{ .name = NULL },
};

static int print_json(const struct args *args, const struct ops_diff *diff, struct err *err)
{
	struct json_object *doc = json_object_new_object();

	json_set_text(doc, "before", args->words[0]);
	json_set_text(doc, "after", args->words[1]);
	growth_json(doc, diff);
	return out_json(doc, err);
}

static int write_as(const struct args *args, const struct ops_diff *diff, struct err *err)
{
	enum profile_format format = profile_format_by_name(args->report_format);
	bool to_stdout = !args->output || !strcmp(args->output, "-");

	if (to_stdout && profile_format_info(format)->binary && isatty(STDOUT_FILENO)) {
		err_set(err, ERR_USAGE, "a terminal cannot show %s", args->report_format);
		return err_fix(err, "write it to a file with -o FILE");
	}
	return ops_diff_write(diff, format, to_stdout ? NULL : args->output, args->force,
			      STDOUT_FILENO, err);
}

static int check(const struct args *args, struct err *err)
{
	unsigned int several;

	if (!args->report_format && args->output)
		return err_set(err, ERR_USAGE, "-o is for what --format writes");
	if (args->report_format && args->json)
		return err_set(err, ERR_USAGE, "--json and -f exclude each other");
	if (!args->report_format ||
	    profile_format_by_name(args->report_format) != PROFILE_FORMAT_NONE)
		return 0;
	return growth_formats(args->report_format, &several, err)
		       ? -1
		       : err_set(err, ERR_USAGE, "--format takes one format");
}

static int run(const struct args *args, struct err *err)
{
	_cleanup_(ops_diff_fini) struct ops_diff diff = { 0 };
	struct ops_symbolise_options symbols;

	if (check(args, err) || report_symbols(args, &symbols, err) ||
	    ops_diff(args->words[0], args->words[1], &symbols, &diff, err))
		return -1;
	if (args->report_format)
		return write_as(args, &diff, err);
	return args->json ? print_json(args, &diff, err) : growth_print(args, &diff, err);
}

const struct command cmd_diff = {
	.name = "diff",
	.words = "BEFORE AFTER",
	.help = "show what grew from one heap profile to another",
	.options = options_of_diff,
	.min_words = 2,
	.max_words = 2,
	.run = run,
};
