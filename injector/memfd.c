// SPDX-License-Identifier: Apache-2.0
#include "injector/memfd.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define NOEXEC_SEAL 8u /* MFD_NOEXEC_SEAL, Linux 6.3; wanted by vm.memfd_noexec=2 */

static int own_failure(const char *what, struct err *err)
{
	return err_raise_sys(err, ERROR_TARGET_FILE_FAILED, errno, .what = what);
}

int memfd_device(dev_t *dev, struct err *err)
{
	_cleanup_(cleanup_close) int fd = memfd_create("jeprof-ctl", MFD_CLOEXEC | NOEXEC_SEAL);
	struct stat st;

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("jeprof-ctl", MFD_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return own_failure("make a memory file", err);
	*dev = st.st_dev;
	return 0;
}

static int not_ours(struct err *err)
{
	err_raise(err, ERROR_FILE_REPLACED);
	return err_advise(err, FIX_DISTRUST);
}

int memfd_hold(const char *path, dev_t dev, int *handle, struct err *err)
{
	_cleanup_(cleanup_close) int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return own_failure("look at the target's memory file", err);
	/*
	 * A memory file has no path (st_nlink is 0); its device has only such files and unnamed
	 * mappings.
	 */
	if (!S_ISREG(st.st_mode) || st.st_dev != dev || st.st_nlink || st.st_size)
		return not_ours(err);
	*handle = take_fd(fd);
	return 0;
}

int memfd_open(int handle, int *fd, struct err *err)
{
	_cleanup_(cleanup_close) int opened = -1;
	struct stat held, got;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	opened = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (opened < 0 || fstat(handle, &held) < 0 || fstat(opened, &got) < 0)
		return own_failure("open the target's memory file", err);
	if (held.st_dev != got.st_dev || held.st_ino != got.st_ino)
		return not_ours(err);
	*fd = take_fd(opened);
	return 0;
}
