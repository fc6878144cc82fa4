// SPDX-License-Identifier: Apache-2.0
/*
 * Private to ops/: the control groups of guarded processes, and the machine as the last of them:
 * their limits, which are read, and pressure and events, of which the kernel tells.
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
	size_t users; /* how many processes are in it */
	struct limit limit;
	struct guard_memory *memory; /* of each rule */
	uint64_t next_ms;	     /* when to look at it again */
	/* Of each rule: what tells of it, to wait for POLLPRI, or -1; and what was counted. */
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
 * The group whose limit `pid` will reach first, memory.high counted; and the one that it is in, of
 * version 2. Each is that of the machine where there is none. What tells of them is opened. The
 * caller gives both back. ERR_FAILED without memory.
 */
int groups_take(struct groups *g, pid_t pid, struct group **limit, struct group **own,
		struct err *err) __must_check;

/* NULL is none. It is closed when nobody has it any more. */
void groups_give(struct groups *g, struct group *group);

/* Read its limit anew. False: it has none any more. */
bool group_read(struct group *group);

/*
 * Something has come by the descriptor of that rule: does it count? `revents` is of poll(2). Where
 * the group is gone the descriptor is closed.
 */
bool group_told(struct group *group, const struct guard_rule *rule, size_t which, short revents);

/* Can a rule of this kind be seen in this group? */
bool group_sees(const struct group *group, size_t rule);

void groups_fini(struct groups *g);

#endif
