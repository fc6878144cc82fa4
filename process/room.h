// SPDX-License-Identifier: Apache-2.0
/*
 * What is left to a process before the kernel refuses more: by its resource limits (getrlimit(2)),
 * its control groups and the machine, whichever will be reached first. Read-only.
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
	ROOM_MEMORY,	/* bytes: its memory cgroups; reclaimable memory counts as left */
	ROOM_TASKS,	/* RLIMIT_NPROC, its pids cgroups, kernel.threads-max */
	ROOM_MAPPINGS,	/* vm.max_map_count, by room_mappings() */
	ROOM_KINDS
};

struct room {
	uint64_t left, limit;
	bool of_group;	/* it is a control group's */
	char name[160]; /* "RLIMIT_AS", "memory.max of /sys/fs/cgroup/a/b", for display */
};

/*
 * Its soft limit of that kind (RLIMIT_AS, _DATA, _FSIZE, _NOFILE, _NPROC, _STACK), RLIM_INFINITY
 * for none. From /proc/PID/limits: prlimit(2) needs CAP_SYS_RESOURCE for another user's process.
 * False if it cannot be read.
 */
bool room_rlimit(pid_t pid, int resource, uint64_t *soft);

/* "address space", "tasks": the name of the resource. */
const char *room_text(enum room_of what);

/* False if there is no limit, or it cannot be read. */
bool room_left(enum room_of what, const struct proc *p, struct room *out);

/* The same for mappings, given their number, which a confined child counts. */
bool room_mappings(uint64_t used, struct room *out);

/* What vm.overcommit_memory=2 leaves to a large process: false in the other modes. */
bool room_to_commit(struct room *out);

/*
 * Is ROOM_MEMORY unknown, because some of its memory cgroups are not visible, and none of the
 * visible ones has a limit?
 */
bool room_is_hidden(const struct proc *p);

#endif
