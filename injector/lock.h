// SPDX-License-Identifier: Apache-2.0
/* Allows one jeprof-ctl per user at a time on each process. */
#ifndef INJECTOR_LOCK_H
#define INJECTOR_LOCK_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Lock `pid` for this process. *lock is a descriptor that holds the lock until it is closed, or
 * this process ends in any way. ERR_BUSY names the process that holds it.
 *
 * It is an fcntl(2) lock on one byte of a file in a directory private to the user (base/private.h):
 * no other user can take it, and it cannot become stale. Closing any other descriptor of that file
 * would release it, so a process holds only one at a time.
 *
 * Where there is no such directory (/run is read-only, or it is writable for others), *lock is -1,
 * and err says why although 0 is returned: concurrent runs are safe, as each traces a different
 * thread; the second one may be refused midway (ERR_BUSY), or wait longer. The same holds for two
 * users.
 */
int lock_target(pid_t pid, int *lock, struct err *err) __must_check;

#endif
