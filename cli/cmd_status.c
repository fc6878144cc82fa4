// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/out.h"

#include <stdio.h>
#include <unistd.h>

/* As text: a number in JSON may lose its last digits. */
static void set_address(struct json_object *doc, const char *path, uint64_t addr)
{
	char text[24];

	snprintf(text, sizeof(text), "%#llx", (unsigned long long)addr);
	json_set_text(doc, path, addr ? text : NULL);
}

static void set_found(struct json_object *doc, const struct ops_jemalloc *je)
{
	char path[64];

	json_set_text(doc, "jemalloc.found_by", je->by_scan ? "scan" : "symbols");
	if (je->dump.n_names)
		json_set_u64(doc, "jemalloc.names", je->dump.n_names);
	else
		json_set(doc, "jemalloc.names", NULL);
	set_address(doc, "jemalloc.mallctl", je->mallctl);
	set_address(doc, "jemalloc.malloc_stats_print", je->malloc_stats_print);
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++) {
		snprintf(path, sizeof(path), "jemalloc.opt_%s", jemalloc_opt_name(i));
		set_address(doc, path, je->opt[i]);
	}
	set_address(doc, "jemalloc.prof_active", je->prof_active);
	set_address(doc, "jemalloc.prof_dump", je->dump.prof_dump);
	json_set_text(doc, "jemalloc.prof_dump_file", *je->dump.reg ? je->dump.reg : NULL);
}

static int print_json(const struct ops_status *status, struct err *err)
{
	const struct ops_jemalloc *je = &status->jemalloc;
	struct json_object *doc = out_doc(&status->cost);

	for (size_t i = 0; i < status->n; i++)
		json_set(doc, status->values[i].name, out_value_json(&status->values[i]));
	json_set_text(doc, "image", je->image);
	json_set_text(doc, "version", je->version[0] ? je->version : NULL);
	json_set_text(doc, "prefix", je->prefix);
	json_set_text(doc, "linkage", jemalloc_linkage_name(je->linkage));
	json_set_text(doc, "conf_variable", je->conf_name);
	json_set_u64(doc, "other_jemallocs", je->others);
	set_found(doc, je);
	out_doc_cost(doc, &status->cost, NULL);
	return out_json(doc, err);
}

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
	if (args_pid(args, &pid, err) || ops_status(pid, &options, &status, err))
		return -1;
	out_cost(args, &status.cost);
	if (args->json)
		return print_json(&status, err);
	for (size_t i = 0; i < status.n; i++) {
		if (print_line(args, status.values[i].name,
			       out_value(&status.values[i], text, sizeof(text)), err))
			return -1;
	}
	return print_jemalloc(args, &status.jemalloc, err);
}

const struct command cmd_status = {
	.name = "status",
	.words = "PID",
	.help = "show how profiling is set up",
	.needs_pid = true,
	.run = run,
};
