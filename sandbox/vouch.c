// SPDX-License-Identifier: Apache-2.0
#include "sandbox/vouch.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not in every <linux/magic.h>. */
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif
#ifndef CIFS_SUPER_MAGIC
#define CIFS_SUPER_MAGIC 0xff534d42
#endif
#ifndef SMB2_SUPER_MAGIC
#define SMB2_SUPER_MAGIC 0xfe534d42
#endif
#ifndef CEPH_SUPER_MAGIC
#define CEPH_SUPER_MAGIC 0x00c36400
#endif

bool vouch_is_served(int handle)
{
	static const uint32_t served[] = { FUSE_SUPER_MAGIC, NFS_SUPER_MAGIC,  V9FS_MAGIC,
					   SMB_SUPER_MAGIC,  CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
					   CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC };
	struct statfs fs;

	if (fstatfs(handle, &fs))
		return true;
	for (size_t i = 0; i < sizeof(served) / sizeof(*served); i++)
		if ((uint32_t)fs.f_type == served[i])
			return true;
	return false;
}

/* Only its owner may write to it. On many systems each user has a private group. */
static bool is_of(const struct stat *st, uid_t owner)
{
	bool own_group = owner && st->st_gid == getegid();

	return st->st_uid == owner &&
	       !(st->st_mode & (own_group ? S_IWOTH : (mode_t)(S_IWOTH | S_IWGRP)));
}

static bool is_trusted(const struct stat *st, uid_t caller)
{
	return is_of(st, 0) || (caller && is_of(st, caller));
}

/* Does the absolute path, without links, lead to the file of `st`, with all parents trusted? */
static bool leads_to(char *path, const struct stat *st, uid_t caller)
{
	_cleanup_(cleanup_close) int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS };
	struct stat here;
	char *rest = path;

	while (at >= 0 && !fstat(at, &here) && is_trusted(&here, caller)) {
		const char *name = strsep(&rest, "/");
		int next;

		if (!name)
			return here.st_dev == st->st_dev && here.st_ino == st->st_ino;
		next = (int)syscall(SYS_openat2, at, name, &how, sizeof(how));
		close(at);
		at = next;
		if (!caller)
			how.resolve |= RESOLVE_NO_XDEV;
	}
	return false;
}

static bool is_below_system(const char *path)
{
	static const char *const folders[] = { "/usr/",	  "/bin/",   "/sbin/",	"/lib/",
					       "/lib32/", "/lib64/", "/libx32/" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (!strncmp(path, folders[i], strlen(folders[i])))
			return true;
	return false;
}

bool vouch_file(int fd, uid_t caller)
{
	char link[64], path[PATH_MAX];
	struct stat st;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len <= 0 || *path != '/' || fstat(fd, &st) || vouch_is_served(fd))
		return false;
	path[len] = '\0';
	if (is_below_system(path))
		caller = 0;
	else if (!caller)
		return false;
	return leads_to(path + 1, &st, caller);
}
