// SPDX-License-Identifier: Apache-2.0
/* All processes, from /proc. */
#ifndef OPS_TARGET_PIDS_H
#define OPS_TARGET_PIDS_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

/* Ascending, in a malloc()ed array that the caller frees. */
int pids_read(pid_t **pids, size_t *n, struct err *err) __must_check;

#endif
