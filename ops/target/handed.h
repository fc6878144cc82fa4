// SPDX-License-Identifier: Apache-2.0
/*
 * Private to ops/: files that are read of nearly every process. The controller opens them and hands
 * them to a confined child that inspects many processes, so that the child need not ask its opener.
 * Opening them involves no file system of the process; reading them may block forever.
 */
#ifndef OPS_TARGET_HANDED_H
#define OPS_TARGET_HANDED_H

#include "process/proc.h"
#include "sandbox/confined.h"

#include <stddef.h>

/* Returns how many files of the process were opened; 0 with errno if its mappings cannot be. */
size_t handed_open(const struct proc *p, int fds[CONFINED_FDS_MAX]);
void handed_close(const int *fds, size_t n);

/* In the child: use them for this process only. */
void handed_use(const struct proc *p, const int *fds, size_t n);
void handed_forget(void);

#endif
