// SPDX-License-Identifier: Apache-2.0
/*
 * What is left to a process before the kernel refuses it more: of its own limits (getrlimit(2)), of
 * those of its control groups and of the machine the one that will be reached first. Looks only.
 */
#ifndef PROCESS_ROOM_H
#define PROCESS_ROOM_H

#include "process/proc.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

enum room_of {
	ROOM_ADDRESSES, /* bytes: RLIMIT_AS; CommitLimit where vm.overcommit_memory is 2 */
	ROOM_DATA,	/* bytes: RLIMIT_DATA, which since Linux 4.7 counts private mappings */
	ROOM_MEMORY,	/* bytes: its memory cgroups, what the kernel can drop counted as left */
	ROOM_TASKS,	/* RLIMIT_NPROC, its pids cgroups, kernel.threads-max */
	ROOM_MAPPINGS,	/* vm.max_map_count, by room_mappings() */
	ROOM_KINDS
};

struct room {
	uint64_t left, limit;
	char name[160]; /* "RLIMIT_AS", "memory.max of /sys/fs/cgroup/a/b", to be shown as it is */
};

/*
 * Its soft limit of that kind (RLIMIT_AS, _DATA, _FSIZE, _NOFILE, _NPROC, _STACK), RLIM_INFINITY
 * for none. By /proc/PID/limits: prlimit(2) wants CAP_SYS_RESOURCE for another user's process.
 * False where it cannot be read.
 */
bool room_rlimit(pid_t pid, int resource, uint64_t *soft);

/* "address space", "tasks": what there is so much left of. */
const char *room_text(enum room_of what);

/* False where there is no limit, or it cannot be read. */
bool room_left(enum room_of what, const struct proc *p, struct room *out);

/* The same for the mappings of a process that has so many: a confined child counts them. */
bool room_mappings(uint64_t used, struct room *out);

/*
 * May a memory cgroup limit it that cannot be seen here, while none that can does? Then ROOM_MEMORY
 * is not known.
 */
bool room_is_hidden(const struct proc *p);

#endif
