// SPDX-License-Identifier: Apache-2.0
#include "io/config.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int config_check(int fd, const char *path, const struct config_kind *kind, struct stat *st,
		 struct err *err)
{
	if (fstat(fd, st))
		return err_raise_sys(err, kind->unreadable, errno, .path = path);
	if (S_ISREG(st->st_mode) && (!st->st_uid || st->st_uid == geteuid()) &&
	    !(st->st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	err_raise(err, kind->not_ours, .path = path);
	return err_advise(err, kind->fix, .path = path);
}

int config_open(const char *path, const struct config_kind *kind, struct stat *st, struct err *err)
{
	/* Opening a FIFO must not block. */
	_cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return err_raise_sys(err, kind->unreadable, errno, .path = path);
	return config_check(fd, path, kind, st, err) ? -1 : take_fd(fd);
}

FILE *config_fopen(const char *path, const struct config_kind *kind, struct err *err)
{
	struct stat st;
	int fd = config_open(path, kind, &st, err);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f && fd >= 0) {
		err_raise_sys(err, kind->unreadable, errno, .path = path);
		close(fd);
	}
	return f;
}
