// SPDX-License-Identifier: Apache-2.0
/*
 * Which dumps are ours, and where they go: for `watch`, which sees a dump into a memory file and
 * cannot believe the file's name, as any process may choose it. Current and recent dumps are noted
 * in a file in the user's private folder (base/private.h), where a watch of the same user finds
 * them.
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
 * Note that a dump of the process begins, on its way to `file`. The result is for own_dump_end();
 * -1 if it cannot be noted, which is no failure: a watch then reports the dump like any other.
 */
int own_dump_begin(const struct proc *p, const char *file);
void own_dump_end(int slot);

/*
 * Was the dump that began at `began_ns`, of the process `pid` that began at `process_began_ns`
 * (both CLOCK_BOOTTIME), one of ours? `file` is set to its destination.
 */
bool own_dump_find(pid_t pid, uint64_t process_began_ns, uint64_t began_ns,
		   char file[OWN_DUMP_FILE_SIZE]);

#endif
