// SPDX-License-Identifier: Apache-2.0
#include "ops/watch/who.h"

#include "base/cleanup.h"
#include "ops/target/container.h"
#include "process/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

/*
 * What the kernel already knows (AT_STATX_DONT_SYNC): the root of a process may be on a file system
 * that does not answer.
 */
static bool look_at_folder(const char *path, struct statx *st)
{
	return !statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, st);
}

static bool look(struct watch_who *who, pid_t pid, uint64_t began_ns)
{
	_cleanup_(proc_close) struct proc p = { 0 };
	struct err ignored = ERR_INIT;
	struct statx ours, its, our_ns, its_ns;
	char cgroup[PROC_CGROUP_SIZE], root[64], ns[64];

	if (proc_open(&p, pid, &ignored) || !watch_is_same(&p, began_ns))
		return false;
	proc_cgroup(pid, cgroup, sizeof(cgroup));
	cgroup_pick(cgroup, who->cgroup, sizeof(who->cgroup));
	container_parse(cgroup, who->container, sizeof(who->container));
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	snprintf(ns, sizeof(ns), "/proc/%d/ns/mnt", pid);
	who->other_root = look_at_folder("/", &ours) && look_at_folder(root, &its) &&
			  look_at_folder("/proc/self/ns/mnt", &our_ns) &&
			  look_at_folder(ns, &its_ns) &&
			  (ours.stx_dev_major != its.stx_dev_major ||
			   ours.stx_dev_minor != its.stx_dev_minor || ours.stx_ino != its.stx_ino ||
			   our_ns.stx_ino != its_ns.stx_ino);
	who->pid = pid;
	who->began_ns = began_ns;
	return true;
}

bool watch_is_same(const struct proc *p, uint64_t began_ns)
{
	uint64_t tick = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK), began = began_ns / tick;

	return p->start_time <= began + 1 && began <= p->start_time + 1;
}

const struct watch_who *watch_who_find(struct watch_whos *w, pid_t pid, uint64_t began_ns)
{
	struct watch_who *oldest = &w->v[0];

	w->clock++;
	for (size_t i = 0; i < WHO_MAX; i++) {
		struct watch_who *who = &w->v[i];

		if (who->pid == pid && who->began_ns == began_ns) {
			who->used = w->clock;
			return who;
		}
		if (who->used < oldest->used)
			oldest = who;
	}
	*oldest = (struct watch_who){ 0 };
	if (!look(oldest, pid, began_ns))
		return NULL;
	oldest->used = w->clock;
	return oldest;
}
