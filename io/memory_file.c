// SPDX-License-Identifier: Apache-2.0
#include "io/memory_file.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

int memory_file_make(int *fd, struct err *err)
{
	int made = memfd_create("jeprof-ctl", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (made < 0)
		return err_raise_sys(err, ERROR_MEMORY_FILE_FAILED, errno, .what = "make");
	*fd = made;
	return 0;
}

int memory_file_seal(int fd, struct err *err)
{
	const int all = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	return fcntl(fd, F_ADD_SEALS, all)
		       ? err_raise_sys(err, ERROR_MEMORY_FILE_FAILED, errno, .what = "seal")
		       : 0;
}

int memory_file_reopen(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int memory_file_size(int fd, uint64_t *bytes, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_raise_sys(err, ERROR_MEMORY_FILE_FAILED, errno, .what = "look at");
	*bytes = (uint64_t)st.st_size;
	return 0;
}

int memory_file_read(int fd, uint64_t bytes, char **text, struct err *err)
{
	_cleanup_(cleanup_free) char *buf = bytes < SIZE_MAX ? malloc((size_t)bytes + 1) : NULL;
	uint64_t at = 0;

	if (!buf)
		return err_no_memory(err);
	while (at < bytes) {
		ssize_t n = pread(fd, buf + at, (size_t)(bytes - at), (off_t)at);

		if (n <= 0)
			return err_raise_sys(err, ERROR_MEMORY_FILE_FAILED, n ? errno : EIO,
					     .what = "read");
		at += (uint64_t)n;
	}
	buf[at] = '\0';
	*text = take_ptr(buf);
	return 0;
}

int memory_file_fill(int fd, memory_file_fn *write, const void *ctx, struct err *err)
{
	_cleanup_(cleanup_fclose) FILE *f = NULL;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	f = copy < 0 ? NULL : fdopen(copy, "w");
	if (!f) {
		cleanup_close(&copy);
		return err_raise_sys(err, ERROR_MEMORY_FILE_FAILED, errno, .what = "open");
	}
	if (write(f, ctx, err))
		return -1;
	/* An earlier write error persists even if the last write succeeds. */
	if (ferror(f))
		return err_raise_sys(err, ERROR_MEMORY_FILE_UNFILLED, EIO);
	return fflush(f) ? err_raise_sys(err, ERROR_MEMORY_FILE_UNFILLED, errno) : 0;
}

int memory_file_write(memory_file_fn *write, const void *ctx, int *fd, uint64_t *bytes,
		      struct err *err)
{
	_cleanup_(cleanup_close) int made = -1;

	if (memory_file_make(&made, err) || memory_file_fill(made, write, ctx, err) ||
	    memory_file_size(made, bytes, err))
		return -1;
	lseek(made, 0, SEEK_SET);
	*fd = take_fd(made);
	return 0;
}
