// SPDX-License-Identifier: Apache-2.0
/* Private to ops/unit/: systemctl(1), which asks the systemd of this machine. */
#ifndef OPS_UNIT_SYSTEMD_H
#define OPS_UNIT_SYSTEMD_H

#include "base/err.h"

/* ERR_FAILED: this machine was not booted with systemd (sd_booted(3)). */
int systemd_booted(struct err *err) __must_check;

/*
 * "systemctl ARGS...", NULL at the end; what it prints is in *said, which the caller frees.
 * ERR_FAILED with what it complained of. It runs for as long as it takes: a signal of the terminal
 * ends it with us.
 */
int systemctl(const char *const *args, char **said, struct err *err) __must_check;

#endif
