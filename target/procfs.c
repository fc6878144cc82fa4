// SPDX-License-Identifier: Apache-2.0
#include "target/procfs.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_SIZE 4096

int procfs_fail(pid_t pid, const char *name, int sys, struct err *err)
{
	if (sys == ENOENT || sys == ESRCH)
		return err_set(err, ERR_LOST, "process %d has ended", pid);
	if (sys == EACCES || sys == EPERM) {
		err_sys(err, ERR_PERM, sys, "cannot read /proc/%d/%s", pid, name);
		return err_fix(err, "run as root, or as the user the process belongs to");
	}
	return err_sys(err, ERR_FAILED, sys, "cannot read /proc/%d/%s", pid, name);
}

static void path_of(char *buf, size_t size, pid_t pid, pid_t tid, const char *name)
{
	if (tid)
		snprintf(buf, size, "/proc/%d/task/%d/%s", pid, tid, name);
	else
		snprintf(buf, size, "/proc/%d/%s", pid, name);
}

int procfs_open(pid_t pid, pid_t tid, const char *name)
{
	char path[PATH_MAX];

	path_of(path, sizeof(path), pid, tid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Fill up to `size` bytes: procfs hands out a page at a time. The length, or -1 with errno. */
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
			return err_sys(err, ERR_FAILED, errno, "no memory for /proc/%d/%s", pid,
				       name);
		buf = bigger;
		got = read_full(fd, buf + used, size - 1 - used);
		if (got < 0)
			return procfs_fail(pid, name, errno, err);
		used += (size_t)got;
		if (used > max)
			return err_set(err, ERR_FAILED, "/proc/%d/%s is longer than %zu bytes", pid,
				       name, max);
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
	char path[64];
	ssize_t got;

	path_of(path, sizeof(path), pid, 0, name);
	got = readlink(path, buf, size - 1);
	if (got < 0)
		return procfs_fail(pid, name, errno, err);
	buf[got] = '\0';
	return 0;
}

/*
 * The target chooses what its paths lead to: a handle without access first, so
 * that opening has no effect on a device and does not wait for a FIFO.
 */
int procfs_open_regular(int handle, uint64_t max, struct stat *st)
{
	char path[64];

	if (fstat(handle, st) || !S_ISREG(st->st_mode) || (uint64_t)st->st_size > max)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static bool has_root(pid_t pid)
{
	char link[64];

	path_of(link, sizeof(link), pid, 0, "root");
	return access(link, F_OK) == 0;
}

/* An O_PATH descriptor, or -1 with errno. */
static int handle_below(const char *folder, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	_cleanup_(cleanup_close) int root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -1 : (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static int handle_in_root(pid_t pid, const char *path)
{
	char link[64];

	path_of(link, sizeof(link), pid, 0, "root");
	return handle_below(link, path);
}

int procfs_open_below(const char *root, const char *path, uint64_t max, struct stat *st)
{
	_cleanup_(cleanup_close) int handle = handle_below(root, path);

	return handle < 0 ? -1 : procfs_open_regular(handle, max, st);
}

int procfs_open_in_root(pid_t pid, const char *path, uint64_t max, struct stat *st)
{
	char link[64];

	path_of(link, sizeof(link), pid, 0, "root");
	return procfs_open_below(link, path, max, st);
}

int procfs_readlink_in_root(pid_t pid, const char *dir, const char *name, char *buf, size_t size,
			    bool *is_link, struct err *err)
{
	_cleanup_(cleanup_close) int handle = handle_in_root(pid, dir);
	ssize_t got = handle < 0 ? -1 : readlinkat(handle, name, buf, size - 1);
	int sys = errno;
	bool absent = sys == ENOTDIR || sys == EINVAL || sys == ENOENT;

	/* Without its root folder a process has ended: then "there is no link" would be a guess. */
	if (got < 0 && (!absent || !has_root(pid)))
		return procfs_fail(pid, "root", sys, err);
	*is_link = got >= 0;
	if (*is_link)
		buf[got] = '\0';
	return 0;
}
