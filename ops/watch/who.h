// SPDX-License-Identifier: Apache-2.0
/*
 * Private to the watch: where a process runs whose dump was seen, kept for the next dump; the
 * process may end right after its dump.
 */
#ifndef OPS_WATCH_WHO_H
#define OPS_WATCH_WHO_H

#include "process/proc.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WHO_MAX 64

struct watch_who {
	pid_t pid; /* 0: a free slot */
	uint64_t began_ns;
	uint64_t used; /* when it was last used, by `clock` */
	char cgroup[512];
	char container[64];
	bool other_root; /* its files have other names here */
};

struct watch_whos {
	struct watch_who v[WHO_MAX];
	uint64_t clock;
};

/*
 * The process `pid` that began then (CLOCK_BOOTTIME). NULL if it is not cached and has ended. Valid
 * until the next call.
 */
const struct watch_who *watch_who_find(struct watch_whos *w, pid_t pid, uint64_t began_ns);

/* Is it the process that began then, or another one that has reused its pid? */
bool watch_is_same(const struct proc *p, uint64_t began_ns);

#endif
