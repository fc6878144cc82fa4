// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/several.h"

#include <inttypes.h>

static const struct option_def options_of_reset[] = {
	{ "lg-sample", 0, VALUE(INT, lg_sample), "N",
	  "from now on sample every 2^N bytes on average", NULL },
	{ "sample-rate", 0, VALUE(SIZE, sample_rate), "SIZE",
	  "the same, as a size: a power of two such as 512K", NULL },
	{ .name = NULL },
};

static int run(const struct args *args, struct err *err)
{
	struct ops_options options;
	struct ops_reset reset;
	char who[OUT_WHO_SIZE];
	pid_t pid;
	int lg;

	args_options(args, &options);
	if (args_sample_rate(args, &lg, err) || args_pid(args, &options, &pid, err) ||
	    ops_reset(pid, lg, &options, &reset, err))
		return -1;
	out_warning(args, &reset.warning);
	out_cost(args, &reset.cost);
	if (!args->json)
		return out_line(err,
				"the samples of %s are discarded; prof.lg_sample is %s%" PRIu64,
				out_who(&reset.cost, who, sizeof(who)),
				reset.lg_before != reset.lg_after ? "now " : "", reset.lg_after);
	return out_json(api_reset(&reset), err);
}

const struct command cmd_reset = {
	.name = "reset",
	.words = "PID...",
	.help = "discard all samples, and optionally change the sample rate",
	.options = options_of_reset,
	.needs_pid = true,
	.max_words = WORDS_MAX,
	.run = run,
	.run_several = several_each,
};
