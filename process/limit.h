// SPDX-License-Identifier: Apache-2.0
/* How much memory there is for a process. */
#ifndef PROCESS_LIMIT_H
#define PROCESS_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct limit {
	uint64_t limit, used; /* bytes */
};

/*
 * The limit of its memory cgroup, version 1 or 2, or of the one above it that will be reached
 * first. False when none has a limit, or it cannot be read.
 */
bool limit_of_cgroup(pid_t pid, struct limit *out);

/* MemTotal of /proc/meminfo, and how much of it is not MemAvailable. */
bool limit_of_machine(struct limit *out);

#endif
