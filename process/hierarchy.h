// SPDX-License-Identifier: Apache-2.0
/*
 * Where hierarchies of control groups can be seen here, and what their groups are called. In a
 * cgroup namespace of our own the names of other processes' groups begin above its root, and no
 * mount of ours has them (cgroup_namespaces(7)).
 */
#ifndef PROCESS_HIERARCHY_H
#define PROCESS_HIERARCHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIERARCHIES_MAX 32

/* One mount. */
struct hierarchy {
	int mount_id;
	bool v2;
	bool whole;    /* all of its groups are in there */
	char *options; /* of version 1: "rw,cpu,cpuacct" */
	char *root;    /* which group is mounted, as our namespace calls it */
	char *folder;  /* where its files are to be opened */
	char *shown;   /* and what to call that */
};

struct hierarchies {
	struct hierarchy v[HIERARCHIES_MAX];
	size_t n;
};

/*
 * Go on in the cgroup namespace of process 1, if that shows all that our own does: with its names
 * all processes of the host have one where we see these at all. Changes what is read in /proc, and
 * nothing else. Where CAP_SYS_ADMIN or CAP_SYS_PTRACE is missing nothing happens.
 */
void hierarchies_join(void);

/* Those that are mounted here. Looked up once. */
const struct hierarchies *hierarchies_here(void);

/*
 * The mount that has the group `path` of `len` bytes: of version 2 for `controller` NULL, else of
 * the hierarchy of version 1 with that controller. NULL if there is none. The group is `*rest`
 * below its folder, "" or "/a/b", up to the end of `path`: no ".." leads out of it.
 */
const struct hierarchy *hierarchies_find(const struct hierarchies *all, const char *controller,
					 const char *path, size_t len, const char **rest);

/* Take a line of proc_pid_mountinfo(5), which is changed; others than of cgroups are left out. */
void hierarchies_add(struct hierarchies *all, char *line);
void hierarchies_fini(struct hierarchies *all);

/* Is `name` one of "a,b,c", which ends at ':' or NUL? */
bool hierarchy_lists(const char *list, const char *name);

#endif
