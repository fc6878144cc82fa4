// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include "cli/out.h"

#include <stdio.h>

const struct command *const commands[] = {
	&cmd_list,	 &cmd_check,	  &cmd_explain, &cmd_status,		 /* looking */
	&cmd_enable,	 &cmd_disable,						 /* services */
	&cmd_record,	 &cmd_sample,	  &cmd_undo,				 /* in one step */
	&cmd_activate,	 &cmd_deactivate, &cmd_dump,	&cmd_bundle, &cmd_reset, /* step by step */
	&cmd_threads,	 &cmd_gdump,	  &cmd_prefix,	&cmd_report, &cmd_diff,
	&cmd_leaks,	 &cmd_convert, /* profiles */
	&cmd_guard,	 &cmd_watch,	  &cmd_serve,	&cmd_sites,  &cmd_probes,
	&cmd_stats,	 &cmd_get,	  &cmd_set, /* jemalloc itself */
	&cmd_completion, &cmd_help,	  &cmd_version, NULL,
};

/* Group titles in the overview. */
static const struct {
	const struct command *first;
	const char *title;
} groups[] = {
	{ &cmd_list, "Look, and change nothing:" },
	{ &cmd_enable, "Make it possible:" },
	{ &cmd_record, "Profile a process in one step:" },
	{ &cmd_activate, "Profile it step by step:" },
	{ &cmd_report, "Read profiles:" },
	{ &cmd_guard, "Wait for events:" },
	{ &cmd_serve, "Serve clients:" },
	{ &cmd_sites, "jemalloc itself:" },
	{ &cmd_completion, "This program:" },
};

static int print_options(const struct option_def *o, struct err *err)
{
	for (; o && o->name; o++) {
		char left[64], letter[8] = "    ";

		if (o->letter)
			snprintf(letter, sizeof(letter), "-%c, ", o->letter);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, o->name, o->arg ? " " : "",
			 o->arg ? o->arg : "");
		if (out_line(err, "  %-24s %s", left, o->help))
			return -1;
	}
	return 0;
}

int help_all(struct err *err)
{
	if (out_line(err, "usage: jeprof-ctl [options] COMMAND [PID...] [options]\n\n"
			  "Control jemalloc heap profiling in processes that are running."))
		return -1;
	for (size_t i = 0; commands[i]; i++) {
		char left[64];

		for (size_t g = 0; g < sizeof(groups) / sizeof(*groups); g++) {
			if (groups[g].first == commands[i] &&
			    out_line(err, "\n%s", groups[g].title))
				return -1;
		}
		snprintf(left, sizeof(left), "%s %s", commands[i]->name, commands[i]->words);
		if (out_line(err, "  %-24s %s", left, commands[i]->help))
			return -1;
	}
	if (out_line(err, "\nOptions of every command:") || print_options(global_options, err))
		return -1;
	return out_line(err, "\njeprof-ctl help COMMAND shows the options of a command.\n"
			     "Durations: 30, 30s, 250ms, 5m, 1h30m. Sizes: 512K, 1M.");
}

int help_command(const struct command *command, struct err *err)
{
	if (out_line(err, "usage: jeprof-ctl %s [options]%s%s\n\n%s", command->name,
		     command->words[0] ? " " : "", command->words, command->help))
		return -1;
	if (command->options &&
	    (out_line(err, "\noptions:") || print_options(command->options, err)))
		return -1;
	return out_line(err, "\noptions of every command:") || print_options(global_options, err)
		       ? -1
		       : 0;
}
