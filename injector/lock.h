// SPDX-License-Identifier: Apache-2.0
/* One jeprof-ctl of a user's at a time on each process. */
#ifndef INJECTOR_LOCK_H
#define INJECTOR_LOCK_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Lock `pid` for this process. *lock is a descriptor that holds it until it is closed, or this
 * process ends in whatever way. ERR_BUSY names the process that has it.
 *
 * It is a lock of fcntl(2) on one byte of a file in a folder that is the user's alone
 * (base/private.h): nobody else can take it, and nothing is left that blocks. Closing another
 * descriptor of that file would give it up: so only one is held at a time.
 *
 * Where there is no such folder (a read-only /run, one that others may write to), *lock is -1, and
 * err says why although 0 is returned: two at once are safe, as each traces a thread of its own;
 * the second one may be refused in the middle (ERR_BUSY), or wait longer. The same holds for two
 * users.
 */
int lock_target(pid_t pid, int *lock, struct err *err) __must_check;

#endif
