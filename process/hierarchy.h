// SPDX-License-Identifier: Apache-2.0
/*
 * The mounts of cgroup hierarchies, and the names of groups in them. In a private cgroup namespace
 * the names of other processes' groups start with "/..", and none of our mounts contains them
 * (cgroup_namespaces(7)).
 */
#ifndef PROCESS_HIERARCHY_H
#define PROCESS_HIERARCHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIERARCHIES_FILE "/proc/self/mountinfo"
#define HIERARCHIES_MAX 32

/* One mount. */
struct hierarchy {
	int mount_id;
	bool v2;
	bool whole;    /* the whole hierarchy is mounted */
	char *options; /* for version 1: "rw,cpu,cpuacct" */
	char *root;    /* the mounted group, as named in our namespace */
	char *folder;  /* the directory to open its files in */
	char *shown;   /* the same for display */
};

struct hierarchies {
	struct hierarchy v[HIERARCHIES_MAX];
	size_t n;
	int sys; /* errno of a failure of our own: some may be missing; otherwise 0 */
};

/*
 * Join the cgroup namespace of process 1, unless our own groups are not visible from it. With the
 * PID namespace of the host, all processes then have names from the root of the hierarchy. Changes
 * what is read in /proc, and nothing else. Does nothing without CAP_SYS_ADMIN and CAP_SYS_PTRACE.
 */
void hierarchies_join(void);

/* The mounts of this process; looked up once. */
const struct hierarchies *hierarchies_here(void);

/*
 * The mount that contains the group `path` of `len` bytes: of version 2 if `controller` is NULL,
 * otherwise of the hierarchy of version 1 with that controller; or NULL. `*rest` is the path of the
 * group below the mount, "" or "/a/b", up to the end of `path`; it contains no "..".
 */
const struct hierarchy *hierarchies_find(const struct hierarchies *all, const char *controller,
					 const char *path, size_t len, const char **rest);

/* Add a line of proc_pid_mountinfo(5), which is modified, if it is a cgroup mount. */
void hierarchies_add(struct hierarchies *all, char *line);
void hierarchies_fini(struct hierarchies *all);

/* Is `name` one of "a,b,c", which ends at ':' or NUL? */
bool hierarchy_lists(const char *list, const char *name);

#endif
