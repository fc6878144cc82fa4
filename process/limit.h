// SPDX-License-Identifier: Apache-2.0
/* How much memory there is for a process. */
#ifndef PROCESS_LIMIT_H
#define PROCESS_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct limit {
	uint64_t limit, used; /* bytes */
	/*
	 * Of what is used, pages of files that were not used lately (inactive_file): the kernel
	 * drops these first. 0 where it does not say.
	 */
	uint64_t inactive;
};

/* What is used that cannot be dropped so easily. */
static inline uint64_t limit_working_set(const struct limit *l)
{
	return l->used > l->inactive ? l->used - l->inactive : 0;
}

/*
 * The limit of its memory cgroup, version 1 or 2, or of the one above it that will be reached
 * first. False when none has a limit, or it cannot be read.
 */
bool limit_of_cgroup(pid_t pid, struct limit *out);

/*
 * The same, where memory.high of version 2 is a limit as well: nothing is killed there, but all in
 * the group is slowed down. `folder`, of PATH_MAX bytes, receives which group it is.
 */
bool limit_of_cgroup_high(pid_t pid, struct limit *out, char *folder);

/* Of that group as it is now. */
bool limit_of_folder(const char *folder, struct limit *out);

/* MemTotal of /proc/meminfo, and how much of it is not MemAvailable. */
bool limit_of_machine(struct limit *out);

#endif
