// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/out.h"

static int run(const struct args *args, struct err *err)
{
	struct json_object *doc;

	if (!args->json)
		return out_line(err, "jeprof-ctl %s", JEPROF_CTL_VERSION);
	doc = json_object_new_object();
	json_set_text(doc, "version", JEPROF_CTL_VERSION);
	return out_json(doc, err);
}

const struct command cmd_version = {
	.name = "version",
	.words = "",
	.help = "show the version of jeprof-ctl",
	.run = run,
};
