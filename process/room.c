// SPDX-License-Identifier: Apache-2.0
#include "process/room.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "process/cgroup.h"
#include "process/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KIB 1024

struct found {
	struct room *out;
	bool any;
};

/* Is it the closest limit up to now? */
static bool consider(struct found *f, const char *name, uint64_t limit, uint64_t used)
{
	uint64_t left = limit > used ? limit - used : 0;

	if (f->any && f->out->left <= left)
		return false;
	f->any = true;
	*f->out = (struct room){ .left = left, .limit = limit };
	output_safe(name, f->out->name, sizeof(f->out->name));
	return true;
}

static void consider_group(struct found *f, const char *file, const char *folder, uint64_t limit,
			   uint64_t used)
{
	char name[PATH_MAX + 64], shown[PATH_MAX];

	snprintf(name, sizeof(name), "%s of %s", file, cgroup_shown(folder, shown, sizeof(shown)));
	if (consider(f, name, limit, used))
		f->out->of_group = true;
}

/* The first number after `key` in a file of /proc; false if there is none. */
static bool number_in(const char *path, const char *key, uint64_t *number)
{
	_cleanup_(cleanup_fclose) FILE *f = fopen(path, "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, key, strlen(key)) == 0)
			return sscanf(line + strlen(key), "%" SCNu64, number) == 1;
	return false;
}

bool room_rlimit(pid_t pid, int resource, uint64_t *soft)
{
	static const char *const lines[RLIM_NLIMITS] = {
		[RLIMIT_AS] = "Max address space", [RLIMIT_DATA] = "Max data size",
		[RLIMIT_FSIZE] = "Max file size",  [RLIMIT_NOFILE] = "Max open files",
		[RLIMIT_NPROC] = "Max processes",  [RLIMIT_STACK] = "Max stack size",
	};
	struct err ignored = ERR_INIT;
	char text[4096];
	const char *line;

	if (procfs_read_into(pid, 0, "limits", text, sizeof(text), &ignored))
		return false;
	line = strstr(text, lines[resource]);
	if (!line)
		return false;
	line += strlen(lines[resource]);
	line += strspn(line, " ");
	*soft = RLIM_INFINITY;
	return strncmp(line, "unlimited", strlen("unlimited")) == 0 ||
	       sscanf(line, "%" SCNu64, soft) == 1;
}

static bool memory_of(const struct proc *p, const char *key, uint64_t *kib)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", p->mm_pid);
	return number_in(path, key, kib);
}

static void by_rlimit(struct found *f, const struct proc *p, int resource, const char *name,
		      const char *counted)
{
	uint64_t limit, used;

	if (room_rlimit(p->pid, resource, &limit) && limit != RLIM_INFINITY &&
	    memory_of(p, counted, &used))
		consider(f, name, limit, used * KIB);
}

#define NEVER_OVERCOMMIT 2

/*
 * What __vm_enough_memory() (mm/util.c of Linux) leaves to a process of this size without
 * CAP_SYS_ADMIN, or to any (NULL).
 */
static void by_commit(struct found *f, const struct proc *p)
{
	uint64_t mode, limit, used, admin = 0, user = 0, size = p ? 0 : UINT64_MAX;

	if (!number_in("/proc/sys/vm/overcommit_memory", "", &mode) || mode != NEVER_OVERCOMMIT ||
	    !number_in("/proc/meminfo", "CommitLimit:", &limit) ||
	    !number_in("/proc/meminfo", "Committed_AS:", &used))
		return;
	number_in("/proc/sys/vm/admin_reserve_kbytes", "", &admin);
	number_in("/proc/sys/vm/user_reserve_kbytes", "", &user);
	if (p)
		memory_of(p, "VmSize:", &size);
	used += admin + (size / 32 < user ? size / 32 : user);
	consider(f, "vm.overcommit_memory=2", limit * KIB, used * KIB);
}

/* Version 1 shows PAGE_COUNTER_MAX for no limit (linux/page_counter.h), version 2 "max". */
#define NO_LIMIT (UINT64_C(1) << 60)

/* File names in both versions. */
static const struct {
	const char *limit, *used, *inactive, *active;
} memory_files[] = {
	{ "memory.max", "memory.current", "inactive_file", "active_file" },
	{ "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
	  "total_active_file" },
};

static void by_memory_group(void *ctx, const char *folder)
{
	for (size_t i = 0; i < sizeof(memory_files) / sizeof(*memory_files); i++) {
		uint64_t limit, used, inactive = 0, active = 0, cache;

		if (!cgroup_number(folder, memory_files[i].limit, &limit) || limit >= NO_LIMIT ||
		    !cgroup_number(folder, memory_files[i].used, &used))
			continue;
		cgroup_keyed(folder, "memory.stat", memory_files[i].inactive, &inactive);
		cgroup_keyed(folder, "memory.stat", memory_files[i].active, &active);
		cache = inactive + active;
		consider_group(ctx, memory_files[i].limit, folder, limit,
			       cache < used ? used - cache : 0);
	}
}

static void by_pids_group(void *ctx, const char *folder)
{
	uint64_t limit, used;

	if (cgroup_number(folder, "pids.max", &limit) &&
	    cgroup_number(folder, "pids.current", &used))
		consider_group(ctx, "pids.max", folder, limit, used);
}

static uint64_t tasks_of(uid_t uid)
{
	_cleanup_(cleanup_closedir) DIR *dir = opendir("/proc");
	const struct dirent *e;
	uint64_t n = 0;

	while (dir && (e = readdir(dir))) {
		struct err ignored = ERR_INIT;
		struct proc_status st;

		if (isdigit((unsigned char)e->d_name[0]) &&
		    proc_thread_status(atoi(e->d_name), 0, &st, &ignored) == 0 && st.uids[0] == uid)
			n += st.threads;
	}
	return n;
}

#define PLENTY 64 /* tasks: with so many left, no exact count is needed */

static void by_tasks(struct found *f, const struct proc *p)
{
	const uint64_t exempt = UINT64_C(1) << CAP_SYS_ADMIN | UINT64_C(1) << CAP_SYS_RESOURCE;
	_cleanup_(cleanup_fclose) FILE *load = NULL;
	uint64_t all, max;

	cgroup_each(p->pid, "pids", by_pids_group, f);
	/* "0.20 0.18 0.12 1/80 11206": the number of tasks of the system is 80. */
	load = fopen("/proc/loadavg", "re");
	if (!load || fscanf(load, "%*s %*s %*s %*u/%" SCNu64, &all) != 1)
		return;
	if (number_in("/proc/sys/kernel/threads-max", "", &max))
		consider(f, "kernel.threads-max", max, all);
	/* It does not apply to root, or with one of these capabilities (copy_process()). */
	if (!p->status.uids[0] || (p->status.cap_permitted & exempt) ||
	    !room_rlimit(p->pid, RLIMIT_NPROC, &max) || max == RLIM_INFINITY)
		return;
	if (max < all + PLENTY)
		all = tasks_of(p->status.uids[0]);
	consider(f, "RLIMIT_NPROC", max, all);
}

const char *room_text(enum room_of what)
{
	static const char *const texts[ROOM_KINDS] = {
		[ROOM_ADDRESSES] = "address space", [ROOM_DATA] = "private memory",
		[ROOM_MEMORY] = "memory",	    [ROOM_TASKS] = "tasks",
		[ROOM_MAPPINGS] = "mappings",
	};

	return texts[what];
}

bool room_left(enum room_of what, const struct proc *p, struct room *out)
{
	struct found f = { .out = out };

	switch (what) {
	case ROOM_ADDRESSES:
		by_rlimit(&f, p, RLIMIT_AS, "RLIMIT_AS", "VmSize:");
		by_commit(&f, p);
		break;
	case ROOM_DATA:
		by_rlimit(&f, p, RLIMIT_DATA, "RLIMIT_DATA", "VmData:");
		break;
	case ROOM_MEMORY:
		cgroup_each(p->pid, "memory", by_memory_group, &f);
		break;
	case ROOM_TASKS:
		by_tasks(&f, p);
		break;
	case ROOM_MAPPINGS:
	case ROOM_KINDS:
		break;
	}
	return f.any;
}

bool room_to_commit(struct room *out)
{
	struct found f = { .out = out };

	by_commit(&f, NULL);
	return f.any;
}

bool room_is_hidden(const struct proc *p)
{
	struct room ignored;
	struct found f = { .out = &ignored };

	return !cgroup_each(p->pid, "memory", by_memory_group, &f) && !f.any;
}

bool room_mappings(uint64_t used, struct room *out)
{
	struct found f = { .out = out };
	uint64_t max;

	if (number_in("/proc/sys/vm/max_map_count", "", &max))
		consider(&f, "vm.max_map_count", max, used);
	return f.any;
}
