// SPDX-License-Identifier: Apache-2.0
/*
 * What our children give up: capabilities(7), and by seccomp(2) all system calls but those
 * they make. Irrevocable, for the calling process alone. Fails with ERR_FAILED; a
 * kernel without seccomp is no failure.
 */
#ifndef SANDBOX_FENCE_H
#define SANDBOX_FENCE_H

#include "base/err.h"

#include <stdbool.h>

#ifdef __SANITIZE_ADDRESS__
#define FENCE_SANITIZED 1
#else
#define FENCE_SANITIZED 0
#endif

/* No capability is left, and none can be had again. */
int fence_drop_capabilities(struct err *err) __must_check;

/*
 * For a process that works on a target's data: no capability, no new privileges, and only what
 * computes, reads and writes descriptors it has: no open(2) of any kind, no socket, no
 * process of its own, no signal to another, no ioctl(2).
 */
int fence_confined(struct err *err) __must_check;

/*
 * For a process that opens files for another one: CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and
 * CAP_CHECKPOINT_RESTORE as far as it has them. It opens for reading, or what is new and has no
 * other name. With `network` its system calls are not limited.
 */
int fence_opener(bool network, struct err *err) __must_check;

#endif
