// SPDX-License-Identifier: Apache-2.0
/*
 * Private to ops/: the control groups of guarded processes, and the machine as the last of them:
 * their limits, which are read, and pressure and events, which the kernel reports.
 */
#ifndef OPS_GUARD_GROUP_H
#define OPS_GUARD_GROUP_H

#include "ops/guard/rule.h"
#include "process/limit.h"

#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <sys/types.h>

struct group {
	char *folder; /* NULL: the machine */
	char *shown;  /* its path for display, likewise */
	size_t users; /* number of processes in it */
	struct limit limit;
	struct guard_memory *memory; /* for each rule */
	uint64_t next_ms;	     /* when to look at it again */
	/*
	 * For each rule: a descriptor to poll for POLLPRI, or -1; and the count that was read last.
	 */
	int *fds;
	uint64_t *counts;
};

struct groups {
	const struct guard_rule *rules;
	size_t n_rules;
	struct group **v;
	size_t n, room;
};

/*
 * The group whose limit `pid` will reach first, including memory.high; and its own group, of
 * version 2. Each is that of the machine if there is none. Their event files are opened. The caller
 * gives both back. ERR_FAILED when out of memory.
 */
int groups_take(struct groups *g, pid_t pid, struct group **limit, struct group **own,
		struct err *err) __must_check;

/* NULL is allowed. The group is closed when its last user gives it back. */
void groups_give(struct groups *g, struct group *group);

/* Read its limit again. False: it no longer has one. */
bool group_read(struct group *group);

/*
 * The descriptor of that rule has an event: does it count? `revents` is from poll(2). If the group
 * is gone, the descriptor is closed.
 */
bool group_told(struct group *group, const struct guard_rule *rule, size_t which, short revents);

/* Can a rule of this kind be observed in this group? */
bool group_sees(const struct group *group, size_t rule);

void groups_fini(struct groups *g);

#endif
