// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/report.h"

#include <string.h>

static const char *const units[] = { "auto", "B", "KB", "MB", "GB", NULL };

static const struct option_def options_of_report[] = {
	{ "format", 'f', OPTION_STRING, "FORMAT", "text, tree, jeprof, or one of convert's (text)",
	  ARG(report_format), report_formats },
	{ "output", 'o', OPTION_FILE, "FILE", "where to put it (stdout)", ARG(output), NULL },
	{ "force", 0, OPTION_FLAG, NULL, "replace a file that exists", ARG(force), NULL },
	{ "base", 0, OPTION_FILE, "FILE", "take the profile in FILE away", ARG(base), NULL },
	{ "diff-base", 0, OPTION_FILE, "FILE", "the same: --base", ARG(base), NULL },
	{ "drop-negative", 0, OPTION_FLAG, NULL, "with --base: what has become less counts as 0",
	  ARG(drop_negative), NULL },
	{ "inuse-space", 0, OPTION_FLAG, NULL, "count bytes that are in use (the default)",
	  ARG(inuse_space), NULL },
	{ "inuse-objects", 0, OPTION_FLAG, NULL, "count objects that are in use",
	  ARG(inuse_objects), NULL },
	{ "alloc-space", 0, OPTION_FLAG, NULL, "count bytes that were ever allocated",
	  ARG(alloc_space), NULL },
	{ "alloc-objects", 0, OPTION_FLAG, NULL, "count objects that were ever allocated",
	  ARG(alloc_objects), NULL },
	{ "functions", 0, OPTION_FLAG, NULL, "a row for each function (the default)",
	  ARG(by_function), NULL },
	{ "lines", 0, OPTION_FLAG, NULL, "a row for each line", ARG(by_line), NULL },
	{ "files", 0, OPTION_FLAG, NULL, "a row for each source file", ARG(by_file), NULL },
	{ "addresses", 0, OPTION_FLAG, NULL, "a row for each address", ARG(by_address), NULL },
	{ "tree", 0, OPTION_FLAG, NULL, "each with its callers and callees", ARG(tree), NULL },
	{ "peek", 0, OPTION_STRING, "RE", "those that match, with their callers and callees",
	  ARG(peek), NULL },
	{ "cum", 0, OPTION_FLAG, NULL, "in the order of cum, not of flat", ARG(cum), NULL },
	{ "nodecount", 'n', OPTION_INT, "N", "at most N rows, 0 for all (80)", ARG(nodecount),
	  NULL },
	{ "nodefraction", 0, OPTION_STRING, "F", "no row below this part of the total (0)",
	  ARG(nodefraction), NULL },
	{ "unit", 0, OPTION_CHOICE, "UNIT", "of bytes: auto, B, KB, MB or GB", ARG(unit), units },
	{ "show-bytes", 0, OPTION_FLAG, NULL, "the same as --unit B", ARG(show_bytes), NULL },
	{ "focus", 0, OPTION_STRING, "RE", "only stacks with a call that matches", ARG(focus),
	  NULL },
	{ "ignore", 0, OPTION_STRING, "RE", "no stacks with a call that matches", ARG(ignore),
	  NULL },
	{ "show", 0, OPTION_STRING, "RE", "only calls that match", ARG(show), NULL },
	{ "hide", 0, OPTION_STRING, "RE", "no calls that match", ARG(hide), NULL },
	{ "retain", 0, OPTION_STRING, "RE", "as --show, with all that was inlined into it",
	  ARG(retain), NULL },
	{ "exclude", 0, OPTION_STRING, "RE", "as --hide, with all that was inlined into it",
	  ARG(exclude), NULL },
	{ "thread", 0, OPTION_STRING, "N", "what one thread allocated", ARG(thread), NULL },
	{ "keep-allocator", 0, OPTION_FLAG, NULL, "also the calls within malloc and its like",
	  ARG(keep_allocator), NULL },
	{ "root", 0, OPTION_FILE, "DIR", "look for programs and libraries below DIR", ARG(root),
	  NULL },
	{ "no-cache", 0, OPTION_FLAG, NULL, "look all names up anew", ARG(no_cache), NULL },
	{ .name = NULL },
};

static int run(const struct args *args, struct err *err)
{
	return report_run(args, args->words, args->n_words, args->report_format, err);
}

const struct command cmd_report = {
	.name = "report",
	.words = "FILE...",
	.help = "show what a heap profile holds",
	.options = options_of_report,
	.min_words = 1,
	.max_words = WORDS_MAX,
	.run = run,
};
