// SPDX-License-Identifier: Apache-2.0
#include "base/private.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "jeprof-ctl"

bool private_is_ours(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* The parent of our directory. */
static void parent_path(char *buf, size_t size)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (!geteuid()) {
		snprintf(buf, size, "/run");
		return;
	}
	if (xdg && *xdg == '/') {
		snprintf(buf, size, "%s", xdg);
		return;
	}
	snprintf(buf, size, "/run/user/%u", geteuid());
	if (stat(buf, &st) || !private_is_ours(&st))
		snprintf(buf, size, "/tmp");
}

void private_path(char *buf, size_t size)
{
	char parent[PATH_MAX];

	parent_path(parent, sizeof(parent));
	if (!strcmp(parent, "/tmp"))
		snprintf(buf, size, "/tmp/" FOLDER "-%u", geteuid());
	else
		snprintf(buf, size, "%s/" FOLDER, parent);
}

bool private_make(const char *path)
{
	char part[PATH_MAX];

	snprintf(part, sizeof(part), "%s", path);
	for (char *at = part + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(part, 0700) && errno != EEXIST)
			return false;
		*at = '/';
	}
	return !mkdir(part, 0700) || errno == EEXIST;
}

int private_open(bool create)
{
	_cleanup_(cleanup_close) int fd = -1;
	char path[PATH_MAX + 32];
	struct stat st;

	private_path(path, sizeof(path));
	if (create && mkdir(path, 0700) && errno != EEXIST)
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -1;
	if (!private_is_ours(&st)) {
		errno = EPERM;
		return -1;
	}
	return take_fd(fd);
}
