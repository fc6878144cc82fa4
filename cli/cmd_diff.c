// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/cleanup.h"
#include "cli/apart.h"
#include "cli/commands.h"
#include "cli/growth.h"
#include "cli/out.h"
#include "cli/report.h"
#include "profile/format/format.h"

#include <unistd.h>

static const struct option_def options_of_diff[] = {
	{ "format", 'f', VALUE(STRING, report_format), "FORMAT",
	  "write the difference as pprof, folded, html, svg, ...",
	  report_formats + REPORT_FORMATS_ONLY },
	{ "output", 'o', VALUE(FILE, output), "FILE", "write it to FILE (stdout)", NULL },
	OPTION_NO_FOLD,
	OPTION_ALLOCATOR,
	{ "force", 0, VALUE(FLAG, force), NULL, "replace an existing file", NULL },
	{ "root", 0, VALUE(FILE, root), "DIR", "look for programs and libraries below DIR", NULL },
	{ "trust-images", 0, VALUE(FLAG, trust_images), NULL,
	  "take names from files that cannot be verified to be the mapped ones", NULL },
	{ "no-cache", 0, VALUE(FLAG, no_cache), NULL, "look up all names again", NULL },
	{ .name = NULL },
};

static int write_as(const struct args *args, const struct ops_diff *diff, struct err *err)
{
	enum profile_format format = profile_format_by_name(args->report_format);

	if (!args_to_file(args) && profile_format_info(format)->binary && apart_to_terminal()) {
		err_raise(err, ERROR_TO_TERMINAL, .name = args->report_format);
		return err_advise(err, FIX_WRITE_TO_FILE);
	}
	return ops_diff_write(diff, format, args_to_file(args) ? args->output : NULL, args->force,
			      STDOUT_FILENO, err);
}

static int check(const struct args *args, struct err *err)
{
	unsigned int several;

	if (args->report_format && args->json)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--json", .what = "-f");
	if (!args->report_format ||
	    profile_format_by_name(args->report_format) != PROFILE_FORMAT_NONE)
		return 0;
	return growth_formats(args->report_format, &several, err)
		       ? -1
		       : err_raise(err, ERROR_ONE_FORMAT);
}

struct job {
	const struct args *args;
	struct ops_symbolize_options symbols;
};

static int run_apart(const void *ctx, struct err *err)
{
	_cleanup_(ops_diff_fini) struct ops_diff diff = { 0 };
	struct job j = *(const struct job *)ctx;
	struct profile_fold fold;
	_cleanup_(json_close) struct json_object *warnings =
		report_warnings(j.args, j.args->json, &j.symbols);

	if (ops_diff(j.args->words[0], j.args->words[1], &j.symbols, &diff, err))
		return -1;
	if (j.args->report_format)
		return ops_diff_find(&diff, NULL, err) || write_as(j.args, &diff, err) ? -1 : 0;
	if (ops_diff_find(&diff, report_fold(j.args, &fold), err))
		return -1;
	if (!j.args->json)
		return growth_print(j.args, &diff, err);
	return out_json(api_with_warnings(api_diff(j.args->words[0], j.args->words[1], &diff),
					  take_ptr(warnings)),
			err);
}

static int run(const struct args *given, struct err *err)
{
	struct args line = *given, *args = &line;
	struct job job = { .args = args };
	const struct apart apart = {
		.inputs = args->words,
		.n_inputs = args->n_words,
		.outputs = &args->output,
		.n_outputs = args_to_file(args),
		.paged = true,
		.symbols = &job.symbols,
		.run = run_apart,
		.ctx = &job,
	};

	if (report_infer_format(args, err) || check(args, err) ||
	    report_symbols(args, &job.symbols, err))
		return -1;
	return apart_run(args, &apart, err);
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
