// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "cli/commands.h"
#include "cli/out.h"

static int run(const struct args *args, struct err *err)
{
	if (!args->json)
		return out_line(err, "jeprof-ctl %s", JEPROF_CTL_VERSION);
	return out_json(api_version(), err);
}

const struct command cmd_version = {
	.name = "version",
	.words = "",
	.help = "show the version of jeprof-ctl",
	.run = run,
};
