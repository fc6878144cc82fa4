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

/* Each has a label for whose it is in one format alone. */
static int check_words(const struct args *args, int format, struct err *err)
{
	if (!args->n_words || format == FORMAT_PROM)
		return 0;
	err_raise(err, ERROR_WORD_TOO_MANY, .name = "stats", .text = args->words[0]);
	return err_advise(err, FIX_SEVERAL_FOR_PROM);
}

static int run(const struct args *args, struct err *err)
{
	_cleanup_(ops_stats_fini) struct ops_stats stats = { 0 };
	struct ops_options options;
	int format = args->format;
	pid_t pids[PIDS_MAX];
	char wanted[32];
	size_t n;

	if (format == FORMAT_DEFAULT)
		format = args->json ? FORMAT_JSON : FORMAT_TEXT;
	snprintf(wanted, sizeof(wanted), "-f %s", formats[format]);
	if (args->json && format != FORMAT_JSON)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--json", .what = wanted);
	args_options(args, &options);
	if (check_words(args, format, err) || args_pids(args, pids, &n, err) ||
	    ops_stats(pids, n, format_of[format], &options, &stats, err))
		return -1;
	for (size_t i = 0; i < stats.n; i++)
		out_cost(args, &stats.costs[i]);
	if (out_write(stats.text, stats.len, err))
		return -1;
	return stats.len && stats.text[stats.len - 1] != '\n' ? out_line(err, "%s", "") : 0;
}

const struct command cmd_stats = {
	.name = "stats",
	.words = "PID...",
	.help = "print jemalloc's own statistics",
	.options = options_of_stats,
	.needs_pid = true,
	.max_words = WORDS_MAX,
	.run = run,
};
