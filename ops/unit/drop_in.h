// SPDX-License-Identifier: Apache-2.0
/* Private to ops/unit/: the files around a unit, on disk. */
#ifndef OPS_UNIT_DROP_IN_H
#define OPS_UNIT_DROP_IN_H

#include "base/err.h"
#include "ops/unit/unit.h"

/*
 * Fill u->files by u->name: those of ours that are there, and for a plan that enables the one to
 * be written as the first. ERR_OUTPUT: a file of that name is not ours, or cannot be read;
 * ERR_FAILED: `runtime`, and one for good is there, which would win.
 */
int drop_in_find(struct ops_unit *u, bool runtime, struct err *err) __must_check;

/* Write it, or remove it and the folder that it leaves empty. */
int drop_in_put(const struct ops_unit_file *f, struct err *err) __must_check;

/* What EnvironmentFile= says of a variable: the last file that sets it, and one that may. */
struct environment_file {
	char path[PATH_MAX], value[UNIT_VALUE_SIZE]; /* "": none sets it */
	char unread[PATH_MAX];			     /* may not be read; "": none */
};

/*
 * What the files of this line of EnvironmentFiles say. `line` is as systemctl shows it:
 * "/etc/default/redis* (ignore_errors=yes)". No other variable of them is kept.
 */
void environment_file_get(const char *line, const char *variable, struct environment_file *f);

#endif
