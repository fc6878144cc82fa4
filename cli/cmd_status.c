// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/several.h"

#include <stdio.h>
#include <unistd.h>

static int print_line(const struct args *args, const char *name, const char *raw, struct err *err)
{
	char safe[OUT_VALUE_SIZE];

	return out_line(err, "%s%-28s%s %s", out_ink(args, STDOUT_FILENO, INK_BOLD), name,
			out_ink(args, STDOUT_FILENO, INK_NONE),
			output_safe(raw, safe, sizeof(safe)));
}

static int print_jemalloc(const struct args *args, const struct ops_jemalloc *je, struct err *err)
{
	const char *const lines[][2] = {
		{ "image", je->image },
		{ "version", je->version[0] ? je->version : "-" },
		{ "prefix", je->prefix[0] ? je->prefix : "(none)" },
		{ "linkage", jemalloc_linkage_name(je->linkage) },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (print_line(args, lines[i][0], lines[i][1], err))
			return -1;
	}
	return 0;
}

static int run(const struct args *args, struct err *err)
{
	_cleanup_(ops_status_fini) struct ops_status status = { 0 };
	struct ops_options options;
	char text[OUT_VALUE_SIZE];
	pid_t pid;

	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) || ops_status(pid, &options, &status, err))
		return -1;
	out_warning(args, &status.recording);
	out_cost(args, &status.cost);
	if (args->json)
		return out_json(api_status(&status), err);
	for (size_t i = 0; i < status.n; i++) {
		if (print_line(args, status.values[i].name,
			       out_value(&status.values[i], text, sizeof(text)), err))
			return -1;
	}
	return print_jemalloc(args, &status.jemalloc, err);
}

const struct command cmd_status = {
	.name = "status",
	.words = "PID...",
	.help = "show how profiling is set up",
	.needs_pid = true,
	.heading = true,
	.max_words = WORDS_MAX,
	.run = run,
	.run_several = several_each,
};
