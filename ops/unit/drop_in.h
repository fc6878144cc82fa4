// SPDX-License-Identifier: Apache-2.0
/* Private to ops/unit/: the drop-in files of a unit, on disk. */
#ifndef OPS_UNIT_DROP_IN_H
#define OPS_UNIT_DROP_IN_H

#include "base/err.h"
#include "ops/unit/unit.h"

/*
 * Fill u->files by u->name: our existing ones, and for a plan that enables, first the one to be
 * written. ERR_OUTPUT: a file of that name is not ours, or cannot be read; ERR_FAILED: `runtime`,
 * but a permanent one exists, which would win.
 */
int drop_in_find(struct ops_unit *u, bool runtime, struct err *err) __must_check;

/* Write it, or remove it and its folder if that is then empty. */
int drop_in_put(const struct ops_unit_file *f, struct err *err) __must_check;

/* What EnvironmentFile= files set a variable to: the last file that sets it, and one that might. */
struct environment_file {
	char path[PATH_MAX], value[UNIT_VALUE_SIZE]; /* "": none sets it */
	char unread[PATH_MAX];			     /* cannot be read; "": none */
};

/*
 * Read the files of this line of EnvironmentFiles. `line` is as systemctl shows it:
 * "/etc/default/redis* (ignore_errors=yes)". Other variables are ignored.
 */
void environment_file_get(const char *line, const char *variable, struct environment_file *f);

#endif
