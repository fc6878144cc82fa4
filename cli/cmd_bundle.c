// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "ops/bundle.h"

#include <string.h>
#include <unistd.h>

static const struct option_def options_of_bundle[] = {
	{ "output", 'o', VALUE(FILE, output), "FILE",
	  "write to FILE (jemalloc.PID.UTC-TIMESTAMP.bundle.tar.gz)", NULL },
	{ "trust-images", 0, VALUE(FLAG, trust_images), NULL,
	  "take names from files that cannot be verified to be the mapped ones", NULL },
	{ "no-cache", 0, VALUE(FLAG, no_cache), NULL, "look up all names again", NULL },
	OPTION_MAX_SIZE("a profile", "1G"),
	{ "force", 0, VALUE(FLAG, force), NULL, "replace an existing file", NULL },
	{ .name = NULL },
};

static int print(const struct args *args, const struct ops_bundle *bundle,
		 struct json_object *warnings, struct err *err)
{
	char safe[4096], size[16];

	out_warning(args, &bundle->warning);
	if (bundle->cost.pid)
		out_cost(args, &bundle->cost);
	if (args->output && !strcmp(args->output, "-"))
		return 0;
	if (args->json)
		return out_json(api_with_warnings(api_bundle(bundle), json_object_get(warnings)),
				err);
	output_safe(bundle->file, safe, sizeof(safe));
	if (args->quiet)
		return out_line(err, "%s", safe);
	return out_line(err, "%s (%s)", safe, text_size(bundle->bytes, size, sizeof(size)));
}

static int what(const struct args *args, struct ops_options *options,
		struct ops_bundle_request *request, struct err *err)
{
	bool process = args_name_process(args);
	int64_t pid;

	if (!process && !args->n_words)
		return args_no_pid(&cmd_bundle, err);
	if (args->n_words && process)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "a process", .what = "a file");
	if (args_word_is_process(args, 0, &pid)) {
		args_warn_of_file(args, pid);
		request->pid = (pid_t)pid;
		return 0;
	}
	if (args->n_words) {
		request->profile = args->words[0];
		return 0;
	}
	return args_pid(args, options, &request->pid, err);
}

static int check_stdout(const struct args *args, struct err *err)
{
	if (args->json)
		err_raise(err, ERROR_BOTH_WANT_STDOUT);
	else if (isatty(STDOUT_FILENO))
		err_raise(err, ERROR_TO_TERMINAL, .name = "a bundle");
	else
		return 0;
	return err_advise(err, FIX_WRITE_TO_FILE);
}

static int run(const struct args *args, struct err *err)
{
	_cleanup_(ops_bundle_fini) struct ops_bundle bundle = { 0 };
	_cleanup_(json_close) struct json_object *warnings = json_object_new_array();
	bool to_stdout = args->output && !strcmp(args->output, "-");
	struct ops_bundle_request request = {
		.output = to_stdout ? NULL : args->output,
		.stream_fd = to_stdout ? STDOUT_FILENO : -1,
		.force = args->force,
		.trust_images = args->trust_images,
		.no_cache = args->no_cache,
		.on_warning = args->json    ? api_warning_add
			      : args->quiet ? NULL
					    : out_warn,
		.ctx = warnings,
		.explain_text = api_explain_text,
	};
	struct ops_options options;

	args_options(args, &options);
	if ((to_stdout && check_stdout(args, err)) || what(args, &options, &request, err) ||
	    ops_bundle(&request, &options, &bundle, err))
		return -1;
	return print(args, &bundle, warnings, err);
}

const struct command cmd_bundle = {
	.name = "bundle",
	.words = "PID|FILE",
	.help = "pack a profile and all it needs elsewhere into one file",
	.options = options_of_bundle,
	.pid_by_option = true,
	.max_words = 1,
	.run = run,
};
