// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "cli/several.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- status --- */

static int print_line(const struct args *args, const char *name, const char *raw, struct err *err)
{
	char safe[OUT_VALUE_SIZE];

	return out_line(err, "%s%-28s%s %s", out_ink(args, STDOUT_FILENO, INK_BOLD), name,
			out_ink(args, STDOUT_FILENO, INK_NONE),
			output_safe(raw, safe, sizeof(safe)));
}

static int run_status(const struct args *args, struct err *err)
{
	_cleanup_(ops_status_fini) struct ops_status status = { 0 };
	const struct ops_jemalloc *je = &status.jemalloc;
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
	if (print_line(args, "image", je->image, err) ||
	    print_line(args, "version", je->version[0] ? je->version : "-", err) ||
	    print_line(args, "prefix", je->prefix[0] ? je->prefix : "(none)", err))
		return -1;
	return print_line(args, "linkage", jemalloc_linkage_name(je->linkage), err);
}

const struct command cmd_status = {
	.name = "status",
	.words = "PID...",
	.help = "show how profiling is set up",
	.needs_pid = true,
	.heading = true,
	.max_words = WORDS_MAX,
	.run = run_status,
	.run_several = several_each,
};

/* --- activate --- */

static const struct option_def options_of_activate[] = {
	{ "force", 0, VALUE(FLAG, force), NULL,
	  "even where sampling is known to crash or hang programs", NULL },
	{ .name = NULL },
};

static int run_activate(const struct args *args, struct err *err)
{
	struct ops_options options;
	struct ops_change change;
	pid_t pid;

	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) ||
	    ops_activate(pid, args->force, &options, &change, err))
		return -1;
	return out_change(args, "prof.active", &change, err);
}

const struct command cmd_activate = {
	.name = "activate",
	.words = "PID...",
	.help = "start sampling allocations",
	.options = options_of_activate,
	.needs_pid = true,
	.max_words = WORDS_MAX,
	.run = run_activate,
	.run_several = several_each,
};

/* --- deactivate --- */

static int run_deactivate(const struct args *args, struct err *err)
{
	struct ops_options options;
	struct ops_change change;
	pid_t pid;

	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) || ops_deactivate(pid, &options, &change, err))
		return -1;
	return out_change(args, "prof.active", &change, err);
}

const struct command cmd_deactivate = {
	.name = "deactivate",
	.words = "PID...",
	.help = "stop sampling; earlier samples stay in the profile",
	.needs_pid = true,
	.max_words = WORDS_MAX,
	.run = run_deactivate,
	.run_several = several_each,
};

/* --- gdump --- */

static const char *const states[] = { "on", "off", NULL };

static const struct option_def options_of_gdump[] = {
	{ "force", 0, VALUE(FLAG, force), NULL, "even though it may hang the process", NULL },
	{ .name = NULL },
};

static int run_gdump(const struct args *args, struct err *err)
{
	struct ops_options options;
	struct ops_change change;
	bool on = !strcmp(args->words[0], "on");
	pid_t pid;

	if (!on && strcmp(args->words[0], "off"))
		return err_raise(err, ERROR_NOT_ON_OR_OFF, .text = args->words[0]);
	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) ||
	    ops_gdump(pid, on, args->force, &options, &change, err))
		return -1;
	return out_change(args, "prof.gdump", &change, err);
}

const struct command cmd_gdump = {
	.name = "gdump",
	.words = "PID on|off",
	.help = "have the process dump at every new maximum of its memory",
	.needs_pid = true,
	.min_words = 1,
	.max_words = 1,
	.options = options_of_gdump,
	.choices = states,
	.run = run_gdump,
};

/* --- reset --- */

static const struct option_def options_of_reset[] = {
	{ "lg-sample", 0, VALUE(INT, lg_sample), "N",
	  "from now on sample every 2^N bytes on average", NULL },
	{ "sample-rate", 0, VALUE(SIZE, sample_rate), "SIZE",
	  "the same, as a size: a power of two such as 512K", NULL },
	{ .name = NULL },
};

static int run_reset(const struct args *args, struct err *err)
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
	.run = run_reset,
	.run_several = several_each,
};

/* --- prefix --- */

static int run_prefix(const struct args *args, struct err *err)
{
	struct ops_options options;
	struct ops_prefix prefix;
	char who[OUT_WHO_SIZE];
	pid_t pid;

	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) ||
	    ops_prefix(pid, args->words[0], &options, &prefix, err))
		return -1;
	out_warning(args, &prefix.warning);
	out_cost(args, &prefix.cost);
	if (!args->json)
		return out_line(err, "prof.prefix is now %s in %s", args->words[0],
				out_who(&prefix.cost, who, sizeof(who)));
	return out_json(api_prefix(args->words[0], &prefix), err);
}

const struct command cmd_prefix = {
	.name = "prefix",
	.words = "PID PATH",
	.help = "set where the process writes its own dumps (jemalloc 5.3.0 or later)",
	.needs_pid = true,
	.min_words = 1,
	.max_words = 1,
	.run = run_prefix,
};

/* --- get --- */

static int run_get(const struct args *args, struct err *err)
{
	struct ops_value values[OPS_NAMES_MAX];
	struct ops_options options;
	char text[OUT_VALUE_SIZE];
	struct ops_cost cost;
	pid_t pid;

	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) ||
	    ops_get(pid, args->words, args->n_words, &options, values, &cost, err))
		return -1;
	out_cost(args, &cost);
	if (args->json)
		return out_json(api_get(values, args->n_words, &cost), err);
	for (size_t i = 0; i < args->n_words; i++) {
		out_value(&values[i], text, sizeof(text));
		if (args->quiet ? out_line(err, "%s", text)
				: out_line(err, "%s: %s", values[i].name, text))
			return -1;
	}
	return 0;
}

const struct command cmd_get = {
	.name = "get",
	.words = "PID NAME...",
	.help = "read mallctl values by name",
	.needs_pid = true,
	.min_words = 1,
	.max_words = OPS_NAMES_MAX,
	.run = run_get,
};

/* --- set --- */

static int run_set(const struct args *args, struct err *err)
{
	const char *text = args->n_words > 1 ? args->words[1] : NULL;
	char before[OUT_VALUE_SIZE], after[OUT_VALUE_SIZE], who[OUT_WHO_SIZE];
	struct ops_options options;
	struct ops_set set;
	pid_t pid;

	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) ||
	    ops_set(pid, args->words[0], text, &options, &set, err))
		return -1;
	out_cost(args, &set.cost);
	if (args->json)
		return out_json(api_set(&set), err);
	if (!set.readable)
		return out_line(err, "%s was written in %s", args->words[0],
				out_who(&set.cost, who, sizeof(who)));
	return out_line(err, "%s: %s -> %s", args->words[0],
			out_value(&set.before, before, sizeof(before)),
			out_value(&set.after, after, sizeof(after)));
}

const struct command cmd_set = {
	.name = "set",
	.words = "PID NAME [VALUE]",
	.help = "write one mallctl value by name",
	.needs_pid = true,
	.min_words = 1,
	.max_words = 2,
	.run = run_set,
};

/* --- stats --- */

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

static int run_stats(const struct args *args, struct err *err)
{
	_cleanup_(ops_stats_fini) struct ops_stats stats = { 0 };
	_cleanup_(json_close) struct json_object *comm = NULL;
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
	if (!args->json || !args->of_several.one)
		return print_text(&stats, err);
	/* jemalloc's own document does not name the process. */
	comm = json_text(args->of_several.name);
	if (out_line(err, "{\"pid\": %d, \"comm\": %s, \"stats\":", (int)args->pid,
		     json_object_to_json_string(comm)) ||
	    print_text(&stats, err))
		return -1;
	return out_line(err, "}");
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

static int run_several_stats(const struct several *s, struct err *err)
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
	.run = run_stats,
	.run_several = run_several_stats,
};
