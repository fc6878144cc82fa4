// SPDX-License-Identifier: Apache-2.0
/* The commands, in cmd_*.c by theme. A new one is declared here and listed in commands.c. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/args.h"

extern const struct command cmd_list;
extern const struct command cmd_check;
extern const struct command cmd_explain;
extern const struct command cmd_status;
extern const struct command cmd_activate;
extern const struct command cmd_deactivate;
extern const struct command cmd_dump;
extern const struct command cmd_bundle;
extern const struct command cmd_record;
extern const struct command cmd_undo;
extern const struct command cmd_diff;
extern const struct command cmd_leaks;
extern const struct command cmd_prefix;
extern const struct command cmd_reset;
extern const struct command cmd_gdump;
extern const struct command cmd_stats;
extern const struct command cmd_get;
extern const struct command cmd_set;
extern const struct command cmd_threads;
extern const struct command cmd_watch;
extern const struct command cmd_guard;
extern const struct command cmd_serve;
extern const struct command cmd_sites;
extern const struct command cmd_probes;
extern const struct command cmd_sample;
extern const struct command cmd_report;
extern const struct command cmd_convert;
extern const struct command cmd_completion;
extern const struct command cmd_help;
extern const struct command cmd_enable;
extern const struct command cmd_disable;
extern const struct command cmd_version;

/* Help, from the tables. */

int help_all(struct err *err) __must_check;
int help_command(const struct command *command, struct err *err) __must_check;

#endif
