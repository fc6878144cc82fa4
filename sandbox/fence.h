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
#include <stdint.h>

#ifdef __SANITIZE_ADDRESS__
#define FENCE_SANITIZED 1
#else
#define FENCE_SANITIZED 0
#endif

/* Lower both limits of a resource (setrlimit(2)) to `max`, as far as they are not below. */
void fence_limit(int resource, uint64_t max);

/* No capability is left, and none can be had again. */
int fence_drop_capabilities(struct err *err) __must_check;

/*
 * Take a user and a group that no other process has: FENCE_USER_FIRST + its process id. Root's
 * alone can, where they are mapped (user_namespaces(7)); the others stay who they are, as do
 * those that the controller could not end any more. It is in a range that neither adduser(8),
 * systemd (systemd.io/UIDS-GIDS) nor the usual maps of containers give away. Clears
 * PR_SET_PDEATHSIG, and PR_SET_DUMPABLE, so that nobody can look into it without capabilities.
 */
#define FENCE_USER_FIRST 0x70000000u
void fence_leave_root(void);

/* The same for an opener that has the capabilities to open what is root's without being root. */
void fence_opener_leave_root(void);

/*
 * For a process that works on a target's data: no capability, no new privileges, and only what
 * computes, reads and writes descriptors it has: no open(2) of any kind, no socket, no
 * process of its own, no signal to another, by fcntl(2) neither, no lock, no ioctl(2), no memory
 * that can be made code.
 */
int fence_confined(struct err *err) __must_check;

/*
 * For a process that opens files for another one: CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and
 * CAP_CHECKPOINT_RESTORE as far as it has them. It opens for reading, or what has no name; the
 * flags of openat2(2) no filter sees, but its user can write to little. With `network` its system
 * calls are not limited.
 */
int fence_opener(bool network, struct err *err) __must_check;

#endif
