// SPDX-License-Identifier: Apache-2.0
/* Private to ops/unit/: systemctl(1), which talks to the systemd of this machine. */
#ifndef OPS_UNIT_SYSTEMD_H
#define OPS_UNIT_SYSTEMD_H

#include "base/err.h"

/* ERR_FAILED: this machine was not booted with systemd (sd_booted(3)). */
int systemd_booted(struct err *err) __must_check;

/*
 * Run "systemctl ARGS...", NULL at the end; *said is set to its output, which the caller frees.
 * ERR_FAILED with its error message. There is no time limit: a signal of the terminal ends it with
 * us.
 */
int systemctl(const char *const *args, char **said, struct err *err) __must_check;

#endif
