// SPDX-License-Identifier: Apache-2.0
/* The control groups of a process, version 1 and 2 (cgroups(7)). */
#ifndef PROCESS_CGROUP_H
#define PROCESS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Call `fn` with the directory of the group of `pid` for `controller` ("memory", "pids"), and of
 * each ancestor, up to the mount. False if some are not visible here and were left out; these may
 * have limits (process/hierarchy.h).
 */
typedef void cgroup_fn(void *ctx, const char *folder);
bool cgroup_each(pid_t pid, const char *controller, cgroup_fn *fn, void *ctx);

/* Such a directory as users know it: the other is the one that we open. Returns `buf`. */
const char *cgroup_shown(const char *folder, char *buf, size_t size);

/* The number in a file of such a directory. False for "max", and if it cannot be read. */
bool cgroup_number(const char *folder, const char *file, uint64_t *number);

/* The number after `key` in a file of lines "key number". */
bool cgroup_keyed(const char *folder, const char *file, const char *key, uint64_t *number);

#endif
