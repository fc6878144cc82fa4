// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/report.h"
#include "cli/several.h"
#include "profile/format/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct option_def options_of_dump[] = {
	{ "output", 'o', VALUE(FILE, output), "FILE",
	  "write the profile to FILE, - for stdout (COMM.PID.UTC-TIMESTAMP.heap)", NULL },
	{ "format", 'f', VALUE(STRING, report_format), "FORMAT",
	  "convert it to pprof, folded, html, svg, ... (as it is)",
	  report_formats + REPORT_FORMATS_ONLY },
	OPTION_MAX_STACKS,
	{ "no-cache", 0, VALUE(FLAG, no_cache), NULL, "look up all names again", NULL },
	{ "in-target", 0, VALUE(OPTIONAL, in_target), "[PATH]",
	  "have the process write it itself, to PATH or by its own prefix", NULL },
	OPTION_MAX_SIZE("a profile", "1G"),
	{ "if-active", 0, VALUE(FLAG, if_active), NULL, "fail while prof.active is false", NULL },
	{ "force", 0, VALUE(FLAG, force), NULL, "replace an existing file", NULL },
	{ .name = NULL },
};

static int print(const struct args *args, const struct ops_dump *dump, bool to_stdout,
		 struct json_object *warnings, struct err *err)
{
	char safe[4096], size[16], who[OUT_WHO_SIZE];

	out_warning(args, &dump->warning);
	out_cost(args, &dump->cost);
	if (to_stdout)
		return 0;
	if (args->json)
		return out_json(api_with_warnings(api_dump(dump), json_object_get(warnings)), err);
	if (!dump->file)
		return out_line(err, "%s wrote a profile", out_who(&dump->cost, who, sizeof(who)));
	output_safe(dump->file, safe, sizeof(safe));
	if (args->quiet)
		return out_line(err, "%s", safe);
	return out_line(err, "%s (%s%s)", safe, text_size(dump->bytes, size, sizeof(size)),
			dump->via == OPS_VIA_TARGET ? ", in the target's file system" : "");
}

static bool is_binary(const char *name)
{
	enum profile_format format = name ? profile_format_by_name(name) : PROFILE_FORMAT_NONE;

	return format != PROFILE_FORMAT_NONE && profile_format_info(format)->binary;
}

static int request_of(const struct args *args, struct ops_dump_request *request, bool to_stdout,
		      struct err *err)
{
	*request = (struct ops_dump_request){
		.file = args->output,
		.stream_fd = to_stdout ? STDOUT_FILENO : -1,
		.force = args->force,
		.format = args->report_format,
		.max_stacks = (size_t)args->max_stacks,
		.no_cache = args->no_cache,
		.on_warning = args->json    ? api_warning_add
			      : args->quiet ? NULL
					    : out_warn,
		.only_active = args->if_active,
		.in_target = args->in_target != NULL,
		.target_path = args->in_target && *args->in_target ? args->in_target : NULL,
	};
	if (args->in_target && args->output)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--in-target", .what = "-o");
	if (args->in_target && args->report_format)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--in-target", .what = "-f");
	if (report_check_stacks(args, args->report_format, err))
		return -1;
	if (to_stdout && is_binary(args->report_format) && isatty(STDOUT_FILENO)) {
		err_raise(err, ERROR_TO_TERMINAL, .name = args->report_format);
		return err_advise(err, FIX_WRITE_TO_FILE);
	}
	if (to_stdout && args->json) {
		err_raise(err, ERROR_BOTH_WANT_STDOUT);
		return err_advise(err, FIX_WRITE_PROFILE_TO_FILE);
	}
	return 0;
}

static int run(const struct args *args, struct err *err)
{
	_cleanup_(ops_dump_fini) struct ops_dump dump = { 0 };
	_cleanup_(json_close) struct json_object *warnings = json_object_new_array();
	bool to_stdout = args->output && !strcmp(args->output, "-");
	struct ops_dump_request request;
	struct ops_options options;
	pid_t pid;

	args_options(args, &options);
	if (request_of(args, &request, to_stdout, err) || args_pid(args, &options, &pid, err))
		return -1;
	request.ctx = warnings;
	if (ops_dump(pid, &request, &options, &dump, err))
		return -1;
	return print(args, &dump, to_stdout, warnings, err);
}

const struct command cmd_dump = {
	.name = "dump",
	.words = "PID...",
	.help = "fetch a heap profile",
	.options = options_of_dump,
	.needs_pid = true,
	.max_words = WORDS_MAX,
	.run = run,
	.run_several = several_each,
};
