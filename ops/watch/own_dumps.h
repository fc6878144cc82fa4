// SPDX-License-Identifier: Apache-2.0
/*
 * Which dumps are ours, and where they go: for `watch`, which sees a dump into
 * a memory file and cannot believe the name of that, as any process may give
 * it. What is under way, and the last ones that were, stands in a file of the
 * folder that is the user's alone (base/private.h): a watch of the same user
 * finds it there.
 */
#ifndef OPS_WATCH_OWN_DUMPS_H
#define OPS_WATCH_OWN_DUMPS_H

#include "process/proc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OWN_DUMP_FILE_SIZE 256

/*
 * Note that a dump of the process begins, on its way to `file`. What is
 * returned is for own_dump_end(); -1 where it cannot be noted, which is no
 * failure: a watch tells of the dump as of any other.
 */
int own_dump_begin(const struct proc *p, const char *file);
void own_dump_end(int slot);

/*
 * Was the dump that began at `began_ns`, of the process `pid` that began at
 * `process_began_ns` (CLOCK_BOOTTIME both), one of ours? `file` receives where it goes.
 */
bool own_dump_find(pid_t pid, uint64_t process_began_ns, uint64_t began_ns,
		   char file[OWN_DUMP_FILE_SIZE]);

#endif
