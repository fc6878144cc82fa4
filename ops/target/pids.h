// SPDX-License-Identifier: Apache-2.0
/* All processes, from /proc, and their parents. */
#ifndef OPS_TARGET_PIDS_H
#define OPS_TARGET_PIDS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Ascending, in a malloc()ed array that the caller frees. */
int pids_read(pid_t **pids, size_t *n, struct err *err) __must_check;

/* Parents: read one process after the other, while processes come and go. */

struct pid_node {
	pid_t pid, ppid;
	uint64_t start_time; /* as in struct proc */
	signed char inside;  /* private to pid_tree_family() */
};

struct pid_tree {
	struct pid_node *v; /* by pid */
	size_t n;
};

int pid_tree_read(struct pid_tree *tree, struct err *err) __must_check;
void pid_tree_fini(struct pid_tree *tree);

/*
 * The parent of `pid`, 0 if unknown. A parent that began later does not count: it has reused the
 * pid of one that ended.
 */
pid_t pid_tree_parent(const struct pid_tree *tree, pid_t pid);

/*
 * `root` and its descendants, ascending, in a malloc()ed array that the caller frees. A process
 * whose parent has ended is a child of its new parent (prctl(2), PR_SET_CHILD_SUBREAPER).
 */
int pid_tree_family(struct pid_tree *tree, pid_t root, pid_t **pids, size_t *n, struct err *err)
	__must_check;

#endif
