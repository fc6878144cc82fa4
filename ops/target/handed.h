// SPDX-License-Identifier: Apache-2.0
/*
 * Private to ops/: what is read of nearly every process, opened by the controller and handed to a
 * confined child that looks at many of them, so that it need not ask its opener. To open these
 * takes no file system of the process; to read them may take for ever.
 */
#ifndef OPS_TARGET_HANDED_H
#define OPS_TARGET_HANDED_H

#include "process/proc.h"
#include "sandbox/confined.h"

#include <stddef.h>

/* Of a process: how many were opened; 0 with errno where its mappings cannot be. */
size_t handed_open(const struct proc *p, int fds[CONFINED_FDS_MAX]);
void handed_close(const int *fds, size_t n);

/* In the child: use them for this process, and no more. */
void handed_use(const struct proc *p, const int *fds, size_t n);
void handed_forget(void);

#endif
