// SPDX-License-Identifier: Apache-2.0
/* The control groups of a process, version 1 and 2 (cgroups(7)). */
#ifndef PROCESS_CGROUP_H
#define PROCESS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Call `fn` with the folder of the group of `pid` that `controller` ("memory", "pids") governs, and
 * with each one above it, up to the mount. Groups that cannot be seen here are left out: false
 * then, and a limit may be theirs (process/hierarchy.h).
 */
typedef void cgroup_fn(void *ctx, const char *folder);
bool cgroup_each(pid_t pid, const char *controller, cgroup_fn *fn, void *ctx);

/* What people call such a folder, which is where it is opened by us. Returns `buf`. */
const char *cgroup_shown(const char *folder, char *buf, size_t size);

/* The number that a file of such a folder holds. False for "max", and where it cannot be read. */
bool cgroup_number(const char *folder, const char *file, uint64_t *number);

/* The number behind `key` in a file of lines "key number". */
bool cgroup_keyed(const char *folder, const char *file, const char *key, uint64_t *number);

#endif
