// SPDX-License-Identifier: Apache-2.0
#include "process/procfs.h"

#include "base/cleanup.h"
#include "sandbox/door.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIRST_SIZE 4096

int procfs_fail(pid_t pid, const char *name, int sys, struct err *err)
{
	if (sys == ENOENT || sys == ESRCH)
		return err_raise(err, ERROR_PROCESS_ENDED, .pid = pid);
	if (sys == EACCES || sys == EPERM) {
		err_raise_sys(err, ERROR_PROC_FORBIDDEN, sys, .pid = pid, .name = name);
		return err_advise(err, FIX_RUN_AS_ROOT_OR_OWNER);
	}
	err_remember(sys, ERROR_PROC_UNREADABLE, .pid = pid, .name = name);
	return err_raise_sys(err, ERROR_PROC_UNREADABLE, sys, .pid = pid, .name = name);
}

int procfs_open(pid_t pid, pid_t tid, const char *name)
{
	return door_proc(pid, tid, name);
}

/* Read up to `size` bytes, since procfs returns a page at a time. The length, or -1 with errno. */
static ssize_t read_full(int fd, char *buf, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t got = read(fd, buf + used, size - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (!got)
			break;
		used += (size_t)got;
	}
	return (ssize_t)used;
}

int procfs_read(pid_t pid, pid_t tid, const char *name, size_t max, char **text, size_t *len,
		struct err *err)
{
	_cleanup_(cleanup_close) int fd = procfs_open(pid, tid, name);
	_cleanup_(cleanup_free) char *buf = NULL;
	size_t used = 0;

	if (fd < 0)
		return procfs_fail(pid, name, errno, err);
	for (size_t size = FIRST_SIZE;; size *= 2) {
		char *bigger = realloc(buf, size);
		ssize_t got;

		if (!bigger)
			return err_no_memory(err);
		buf = bigger;
		got = read_full(fd, buf + used, size - 1 - used);
		if (got < 0)
			return procfs_fail(pid, name, errno, err);
		used += (size_t)got;
		if (used > max)
			return err_raise(err, ERROR_PROC_TOO_LONG, .pid = pid, .name = name,
					 .number = (int64_t)max);
		if (used < size - 1)
			break;
	}
	buf[used] = '\0';
	*text = take_ptr(buf);
	*len = used;
	return 0;
}

int procfs_read_into(pid_t pid, pid_t tid, const char *name, char *buf, size_t size,
		     struct err *err)
{
	_cleanup_(cleanup_close) int fd = procfs_open(pid, tid, name);
	ssize_t got;

	if (fd < 0)
		return procfs_fail(pid, name, errno, err);
	got = read_full(fd, buf, size - 1);
	if (got < 0)
		return procfs_fail(pid, name, errno, err);
	buf[got] = '\0';
	return 0;
}

int procfs_readlink(pid_t pid, const char *name, char *buf, size_t size, struct err *err)
{
	ssize_t got = door_proc_link(pid, name, buf, size);

	if (got < 0)
		return procfs_fail(pid, name, errno, err);
	buf[got] = '\0';
	return 0;
}

static void root_of(pid_t pid, char buf[32])
{
	snprintf(buf, 32, "/proc/%d/root", pid);
}

int procfs_open_in_root(pid_t pid, const char *path, uint64_t max)
{
	char root[32];

	root_of(pid, root);
	return door_below(root, path, max);
}

int procfs_readlink_in_root(pid_t pid, const char *dir, const char *name, char *buf, size_t size,
			    bool *is_link, struct err *err)
{
	char root[32], ignored[2];
	ssize_t got;
	bool absent;
	int sys;

	root_of(pid, root);
	got = door_link_below(root, dir, name, buf, size);
	sys = errno;
	absent = sys == ENOTDIR || sys == EINVAL || sys == ENOENT;
	/* Without a root directory it has ended; whether there was a link is unknown. */
	if (got < 0 && !absent)
		return procfs_fail(pid, "root", sys, err);
	if (got < 0 && door_proc_link(pid, "root", ignored, sizeof(ignored)) < 0)
		return procfs_fail(pid, "root", errno, err);
	*is_link = got >= 0;
	if (*is_link)
		buf[got] = '\0';
	return 0;
}

const char *procfs_stat_field(const char *text, int number)
{
	const char *at = strrchr(text, ')');

	for (int field = 2; at && field < number; field++)
		at = strchr(at + 1, ' ');
	return at;
}
