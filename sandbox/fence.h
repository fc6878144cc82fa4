// SPDX-License-Identifier: Apache-2.0
/*
 * Privileges that our children drop: capabilities(7), and by seccomp(2) all system calls except
 * those they make. Irrevocable, for the calling process only. Fails with ERR_FAILED; a kernel
 * without seccomp is not a failure.
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

/* Lower both limits of a resource (setrlimit(2)) to `max`, unless they are lower already. */
void fence_limit(int resource, uint64_t max);

/* Drop all capabilities, with no way to regain any. */
int fence_drop_capabilities(struct err *err) __must_check;

/*
 * Switch to a user and a group that no other process has: FENCE_USER_FIRST + its pid. Only for
 * processes of root, if the IDs are mapped (user_namespaces(7)); others keep their user, as do
 * those that the controller could no longer kill. The range is not used by adduser(8), systemd
 * (systemd.io/UIDS-GIDS) or the usual ID maps of containers. Clears PR_SET_PDEATHSIG, and
 * PR_SET_DUMPABLE, so that inspecting it takes capabilities.
 */
#define FENCE_USER_FIRST 0x70000000u
void fence_leave_root(void);

/* The same for an opener, if its capabilities suffice to open root's files as another user. */
void fence_opener_leave_root(void);

/*
 * For a process that handles a target's data: no capabilities, no new privileges, and only
 * computation and I/O on descriptors that it has: no open(2) of any kind, no sockets, no new
 * processes, no signals to others, not even by fcntl(2), no locks, no ioctl(2), no memory that can
 * be made executable.
 */
int fence_confined(struct err *err) __must_check;

/*
 * For a process that opens files for another one: keeps CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and
 * CAP_CHECKPOINT_RESTORE as far as it has them. It may open files for reading, and unnamed files; a
 * filter cannot see the flags of openat2(2), but its user can write to few files. With `network`
 * its system calls are not limited.
 */
int fence_opener(bool network, struct err *err) __must_check;

#endif
