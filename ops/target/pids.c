// SPDX-License-Identifier: Apache-2.0
#include "ops/target/pids.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "process/proc.h"
#include "process/procfs.h"

#include <errno.h>
#include <stdlib.h>

#define STAT_SIZE 4096
#define PPID_FIELD 4
#define START_TIME_FIELD 22

int pids_read(pid_t **pids, size_t *n, struct err *err)
{
	_cleanup_(cleanup_closedir) DIR *dir = opendir("/proc");
	_cleanup_(cleanup_free) pid_t *v = NULL;
	size_t count = 0, room = 0;
	const struct dirent *e;

	if (!dir)
		return err_raise_sys(err, ERROR_PROC_UNOPENED, errno);
	while (errno = 0, (e = readdir(dir))) {
		int pid = atoi(e->d_name);

		if (pid <= 0)
			continue;
		if (!vec_grow(v, room, count))
			return err_no_memory(err);
		v[count++] = pid;
	}
	if (errno)
		return err_raise_sys(err, ERROR_PROC_UNLISTED, errno);
	vec_sort(v, count, proc_by_pid);
	*pids = take_ptr(v);
	*n = count;
	return 0;
}

/* --- parents --- */

/* False when it has ended. */
static bool read_node(pid_t pid, struct pid_node *node)
{
	char text[STAT_SIZE];
	const char *ppid, *start_time;
	struct err ignored;

	/* The first thread's: for the process, the kernel adds up the times of all threads. */
	if (procfs_read_into(pid, pid, "stat", text, sizeof(text), &ignored))
		return false;
	ppid = procfs_stat_field(text, PPID_FIELD);
	start_time = procfs_stat_field(text, START_TIME_FIELD);
	if (!ppid || !start_time)
		return false;
	*node = (struct pid_node){ .pid = pid,
				   .ppid = atoi(ppid),
				   .start_time = strtoull(start_time, NULL, 10) };
	return true;
}

int pid_tree_read(struct pid_tree *tree, struct err *err)
{
	_cleanup_(cleanup_free) pid_t *pids = NULL;
	size_t n;

	if (pids_read(&pids, &n, err))
		return -1;
	*tree = (struct pid_tree){ .v = calloc(n + 1, sizeof(*tree->v)) };
	if (!tree->v)
		return err_no_memory(err);
	for (size_t i = 0; i < n; i++)
		tree->n += read_node(pids[i], &tree->v[tree->n]);
	return 0;
}

void pid_tree_fini(struct pid_tree *tree)
{
	free(tree->v);
	*tree = (struct pid_tree){ 0 };
}

static int compare_nodes(const void *a, const void *b)
{
	const struct pid_node *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct pid_node *find(const struct pid_tree *tree, pid_t pid)
{
	const struct pid_node key = { .pid = pid };

	return vec_find(&key, tree->v, tree->n, compare_nodes);
}

static struct pid_node *parent_of(const struct pid_tree *tree, const struct pid_node *node)
{
	struct pid_node *parent = find(tree, node->ppid);

	return parent && parent != node && parent->start_time <= node->start_time ? parent : NULL;
}

pid_t pid_tree_parent(const struct pid_tree *tree, pid_t pid)
{
	const struct pid_node *node = find(tree, pid);
	const struct pid_node *parent = node ? parent_of(tree, node) : NULL;

	return parent ? parent->pid : 0;
}

enum { UNKNOWN = 0, ON_THE_WAY, INSIDE, OUTSIDE };

/*
 * Walks up to the first ancestor that is already marked; its mark applies to all nodes on the way.
 * So each node is visited at most twice, however long the chain is. As processes come and go while
 * they are read, parents may form a cycle.
 */
static void mark(const struct pid_tree *tree, struct pid_node *node)
{
	struct pid_node *at = node;
	signed char found;

	while (at && at->inside == UNKNOWN) {
		at->inside = ON_THE_WAY;
		at = parent_of(tree, at);
	}
	found = at && at->inside != ON_THE_WAY ? at->inside : OUTSIDE;
	for (at = node; at && at->inside == ON_THE_WAY; at = parent_of(tree, at))
		at->inside = found;
}

int pid_tree_family(struct pid_tree *tree, pid_t root, pid_t **pids, size_t *n, struct err *err)
{
	struct pid_node *first = find(tree, root);
	pid_t *v = calloc(tree->n + 1, sizeof(*v));
	size_t count = 0;

	if (!v)
		return err_no_memory(err);
	for (size_t i = 0; i < tree->n; i++)
		tree->v[i].inside = UNKNOWN;
	if (first)
		first->inside = INSIDE;
	for (size_t i = 0; i < tree->n; i++) {
		mark(tree, &tree->v[i]);
		if (tree->v[i].inside == INSIDE)
			v[count++] = tree->v[i].pid;
	}
	*pids = v;
	*n = count;
	return 0;
}
