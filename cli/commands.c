// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

const struct command *const commands[] = {
	&cmd_list,   &cmd_check,  &cmd_status,	&cmd_activate,	 &cmd_deactivate, &cmd_dump,
	&cmd_bundle, &cmd_record, &cmd_undo,	&cmd_diff,	 &cmd_leaks,	  &cmd_prefix,
	&cmd_reset,  &cmd_gdump,  &cmd_stats,	&cmd_get,	 &cmd_set,	  &cmd_threads,
	&cmd_watch,  &cmd_report, &cmd_convert, &cmd_completion, &cmd_version,	  NULL,
};
