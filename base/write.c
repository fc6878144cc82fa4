// SPDX-License-Identifier: Apache-2.0
#include "base/write.h"

#include "base/err.h"

#include <errno.h>
#include <unistd.h>

bool write_all(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len) {
		ssize_t put = write(fd, at, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0) {
			errno = put ? errno : ENOSPC;
			return false;
		}
		at += put;
		len -= (size_t)put;
	}
	return true;
}

ssize_t read_at(int fd, void *bytes, size_t len, off_t at)
{
	ssize_t got = pread(fd, bytes, len, at);

	if (got < 0)
		err_remember(errno, ERROR_READ_FAILED);
	return got;
}
