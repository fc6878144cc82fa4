// SPDX-License-Identifier: Apache-2.0
/* The memory available to a process. */
#ifndef PROCESS_LIMIT_H
#define PROCESS_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct limit {
	uint64_t limit, used; /* bytes */
	/*
	 * The part of `used` that is inactive page cache (inactive_file), which the kernel reclaims
	 * first. 0 if unknown.
	 */
	uint64_t inactive;
};

/* `used` without what is easily reclaimed. */
static inline uint64_t limit_working_set(const struct limit *l)
{
	return l->used > l->inactive ? l->used - l->inactive : 0;
}

/*
 * The limit of its memory cgroup, version 1 or 2, or of the ancestor that will reach its limit
 * first. False if none has a limit, or it cannot be read.
 */
bool limit_of_cgroup(pid_t pid, struct limit *out);

/*
 * The same, but memory.high of version 2 counts as a limit as well: beyond it nothing is killed,
 * but the group is throttled. `folder`, of PATH_MAX bytes, receives the directory of the group.
 */
bool limit_of_cgroup_high(pid_t pid, struct limit *out, char *folder);

/* The current values of that group. */
bool limit_of_folder(const char *folder, struct limit *out);

/* MemTotal of /proc/meminfo, and MemTotal minus MemAvailable as `used`. */
bool limit_of_machine(struct limit *out);

#endif
