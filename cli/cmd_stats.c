// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/several.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const formats[] = { "json", "text", "prom", NULL };
static const enum ops_stats_format format_of[] = {
	[FORMAT_JSON] = OPS_STATS_JSON,
	[FORMAT_TEXT] = OPS_STATS_TEXT,
	[FORMAT_PROM] = OPS_STATS_PROM,
};

static const struct option_def options_of_stats[] = {
	{ "format", 'f', VALUE(CHOICE, format), "FORMAT",
	  "json, text or prom (text; json with --json)", formats },
	OPTION_MAX_SIZE("statistics", "64M"),
	{ .name = NULL },
};

static int format_wanted(const struct args *args, int *format, struct err *err)
{
	char wanted[32];

	*format = args->format;
	if (*format == FORMAT_DEFAULT)
		*format = args->json ? FORMAT_JSON : FORMAT_TEXT;
	snprintf(wanted, sizeof(wanted), "-f %s", formats[*format]);
	if (args->json && *format != FORMAT_JSON)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--json", .what = wanted);
	return 0;
}

static int print_text(const struct ops_stats *stats, struct err *err)
{
	if (out_write(stats->text, stats->len, err))
		return -1;
	return stats->len && stats->text[stats->len - 1] != '\n' ? out_line(err, "%s", "") : 0;
}

/* jemalloc's own document does not name the process. */
static int print_member(const struct args *args, const struct ops_stats *stats, struct err *err)
{
	_cleanup_(json_close) struct json_object *comm = json_text(args->of_several.name);

	if (out_line(err, "{\"pid\": %d, \"comm\": %s, \"stats\":", (int)args->pid,
		     json_object_to_json_string(comm)) ||
	    print_text(stats, err))
		return -1;
	return out_line(err, "}");
}

static int run(const struct args *args, struct err *err)
{
	_cleanup_(ops_stats_fini) struct ops_stats stats = { 0 };
	struct ops_match of = { 0 };
	struct ops_options options;
	int format;

	args_options(args, &options);
	if (format_wanted(args, &format, err) || args_pid(args, &options, &of.pid, err))
		return -1;
	of.start_time = options.start_time;
	if (ops_stats(&of, 1, format_of[format], &options, &stats, err) ||
	    ops_stats_failed(&stats, err))
		return -1;
	out_cost(args, &stats.v->cost);
	return args->json && args->of_several.one ? print_member(args, &stats, err)
						  : print_text(&stats, err);
}

/* One exposition, with a label that names the process. */
static int print_prom(const struct several *s, struct err *err)
{
	_cleanup_(ops_stats_fini) struct ops_stats stats = { 0 };
	_cleanup_(cleanup_free) struct ops_match *of = calloc(s->n, sizeof(*of));
	struct tally tally = { 0 };
	struct ops_options options;

	if (!of)
		return err_no_memory(err);
	for (size_t i = 0; i < s->n; i++)
		of[i] = s->v[i].match;
	args_options(s->args, &options);
	if (ops_stats(of, s->n, OPS_STATS_PROM, &options, &stats, err))
		return -1;
	for (size_t i = 0; i < s->n; i++) {
		const struct ops_stats_of *one = &stats.v[i];

		out_cost(s->args, &one->cost);
		several_count(&tally, &s->v[i],
			      one->why.ids[0] ? several_failed(s, &s->v[i], &one->why) : 0);
	}
	return print_text(&stats, err) ? -1 : several_sum(s, &tally);
}

static int run_several(const struct several *s, struct err *err)
{
	struct several array = *s;
	struct args args = *s->args;
	int format;

	if (format_wanted(s->args, &format, err))
		return -1;
	if (format == FORMAT_PROM)
		return print_prom(s, err);
	args.json = format == FORMAT_JSON;
	array.args = &args;
	return several_each(&array, err);
}

const struct command cmd_stats = {
	.name = "stats",
	.words = "PID...",
	.help = "print jemalloc's own statistics",
	.options = options_of_stats,
	.needs_pid = true,
	.heading = true,
	.max_words = WORDS_MAX,
	.run = run,
	.run_several = run_several,
};
