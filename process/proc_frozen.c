// SPDX-License-Identifier: Apache-2.0
/*
 * The freezer of control groups stops a process in a way that its state does
 * not show (cgroups(7)). In version 2 cgroup.events says "frozen 1"; in
 * version 1 freezer.state says FROZEN, or FREEZING on the way there.
 */
#include "base/cleanup.h"
#include "process/proc.h"
#include "process/procfs.h"

#include <limits.h>
#include <mntent.h>
#include <string.h>

#define LINE_MAX_ (PATH_MAX + 256)

/* Where the hierarchy is mounted here: cgroup2, or the cgroup with the freezer. */
static bool find_mount(bool v2, char *dir, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	bool found = false;

	while (mounts && !found && (m = getmntent(mounts))) {
		found = v2 ? !strcmp(m->mnt_type, "cgroup2")
			   : !strcmp(m->mnt_type, "cgroup") && hasmntopt(m, "freezer");
		if (found && snprintf(dir, size, "%s", m->mnt_dir) >= (int)size)
			found = false;
	}
	if (mounts)
		endmntent(mounts);
	return found;
}

/* Does one of the file's lines start with `prefix`? */
static bool file_says(const char *dir, const char *group, const char *file, const char *prefix)
{
	_cleanup_(cleanup_fclose) FILE *f = NULL;
	char path[2 * LINE_MAX_], line[256];

	if (snprintf(path, sizeof(path), "%s%s/%s", dir, group, file) >= (int)sizeof(path))
		return false;
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, prefix, strlen(prefix)))
			return true;
	return false;
}

/* "0::/path" of version 2, "7:freezer:/path" of version 1. */
static bool line_frozen(char *line, char *dir, size_t size)
{
	char *controllers = strchr(line, ':'),
	     *group = controllers ? strchr(controllers + 1, ':') : NULL;
	bool v2;

	if (!group)
		return false;
	*group++ = '\0';
	group[strcspn(group, "\n")] = '\0';
	v2 = !controllers[1];
	if ((!v2 && strcmp(controllers + 1, "freezer") != 0) || !find_mount(v2, dir, size))
		return false;
	return v2 ? file_says(dir, group, "cgroup.events", "frozen 1")
		  : file_says(dir, group, "freezer.state", "FR");
}

bool proc_frozen(pid_t pid)
{
	_cleanup_(cleanup_fclose) FILE *f = NULL;
	char path[64], line[LINE_MAX_], dir[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (line_frozen(line, dir, sizeof(dir)))
			return true;
	return false;
}

void proc_cgroup(pid_t pid, char *buf, size_t size)
{
	struct err ignored = ERR_INIT;

	if (procfs_read_into(pid, 0, "cgroup", buf, size, &ignored) < 0)
		buf[0] = '\0';
}
