// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/out.h"

static const char *const formats[] = { "json", "text", "prom", NULL };
static const enum ops_stats_format format_of[] = {
	[FORMAT_JSON] = OPS_STATS_JSON,
	[FORMAT_TEXT] = OPS_STATS_TEXT,
	[FORMAT_PROM] = OPS_STATS_PROM,
};

static const struct option_def options_of_stats[] = {
	{ "format", 'f', VALUE(CHOICE, format), "FORMAT",
	  "json, text or prom (text; json with --json)", formats },
	OPTION_MAX_SIZE("statistics (64M)"),
	{ .name = NULL },
};

static int run(const struct args *args, struct err *err)
{
	_cleanup_(ops_stats_fini) struct ops_stats stats = { 0 };
	struct ops_options options;
	int format = args->format;
	char wanted[32];
	pid_t pid;

	if (format == FORMAT_DEFAULT)
		format = args->json ? FORMAT_JSON : FORMAT_TEXT;
	snprintf(wanted, sizeof(wanted), "-f %s", formats[format]);
	if (args->json && format != FORMAT_JSON)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--json", .what = wanted);
	args_options(args, &options);
	if (args_pid(args, &pid, err) || ops_stats(pid, format_of[format], &options, &stats, err))
		return -1;
	out_cost(args, &stats.cost);
	if (out_write(stats.text, stats.len, err))
		return -1;
	return stats.len && stats.text[stats.len - 1] != '\n' ? out_line(err, "%s", "") : 0;
}

const struct command cmd_stats = {
	.name = "stats",
	.words = "PID",
	.help = "print jemalloc's own statistics",
	.options = options_of_stats,
	.needs_pid = true,
	.run = run,
};
