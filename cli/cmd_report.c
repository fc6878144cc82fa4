// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct option_def options_of_report[] = {
	{ "format", 'f', VALUE(STRING, report_format), "FORMAT",
	  "text, tree, jeprof, or a format of convert (text)", report_formats },
	OPTION_MAX_STACKS,
	{ "output", 'o', VALUE(FILE, output), "FILE",
	  "write to FILE (stdout), in the format of its suffix", NULL },
	{ "force", 0, VALUE(FLAG, force), NULL, "replace an existing file", NULL },
	{ "save", 0, VALUE(FILE, save), "FILE", "with a process: keep its profile in FILE", NULL },
	{ "sum", 0, VALUE(FLAG, sum), NULL, "add up even several profiles of one process", NULL },
	{ "base", 0, VALUE(FILE, base), "FILE", "subtract the profile in FILE", NULL },
	{ "diff-base", 0, VALUE(FILE, base), "FILE", "the same as --base", NULL },
	{ "drop-negative", 0, VALUE(FLAG, drop_negative), NULL, "with --base: count decreases as 0",
	  NULL },
	OPTIONS_OF_COUNTS,
	{ "thread", 0, VALUE(STRING, thread), "N|NAME",
	  "only what one thread of the profile allocated, or all threads of that name", NULL },
	OPTIONS_OF_TABLES,
	{ "root", 0, VALUE(FILE, root), "DIR", "look for programs and libraries below DIR", NULL },
	{ "trust-images", 0, VALUE(FLAG, trust_images), NULL,
	  "take names from files that cannot be verified to be the mapped ones", NULL },
	{ "no-cache", 0, VALUE(FLAG, no_cache), NULL, "look up all names again", NULL },
	{ .name = NULL },
};

/* Whether a process is to be dumped. *number: its pid if given as a word, or 0. */
static bool is_process(const struct args *args, int64_t *number)
{
	*number = 0;
	return args_name_process(args) ||
	       (args->n_words == 1 && args_word_is_process(args, 0, number));
}

static int report_process(const struct args *args, const char *format, int64_t number,
			  struct err *err)
{
	struct args one = *args;

	if (number) {
		args_warn_of_file(args, number);
		one.pid = number;
		one.n_words = 0;
	} else if (args->n_words) {
		return err_raise(err, ERROR_EXCLUSIVE, .name = "a process", .what = "a file");
	}
	return report_run(&one, NULL, 0, format, err);
}

static int run(const struct args *args, struct err *err)
{
	const char *format = report_format_asked(args);
	int64_t number;

	if (is_process(args, &number))
		return report_process(args, format, number, err);
	if (args->save)
		return err_raise(err, ERROR_SAVE_IS_FOR_PROCESS);
	if (!args->n_words) {
		err_raise(err, ERROR_ARGUMENT_MISSING, .name = "report");
		return err_advise(err, FIX_SEE_COMMAND_HELP, .command = "report");
	}
	return report_run(args, args->words, args->n_words, format, err);
}

const struct command cmd_report = {
	.name = "report",
	.words = "PID|FILE...",
	.help = "show a heap profile, read from a file or dumped by a process now",
	.options = options_of_report,
	.pid_by_option = true,
	.max_words = WORDS_MAX,
	.run = run,
};
