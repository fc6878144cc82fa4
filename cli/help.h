// SPDX-License-Identifier: Apache-2.0
/* Help, from the tables. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/args.h"

int help_all(struct err *err) __must_check;
int help_command(const struct command *command, struct err *err) __must_check;

#endif
