// SPDX-License-Identifier: Apache-2.0
#include "injector/check.h"

#include "base/cleanup.h"
#include "base/private.h"
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>

#define LOCK_FILE "lock"

/* A holder that is not visible has probably just exited: then it is worth another try. */
static int held_by(pid_t pid, pid_t holder, struct err *err)
{
	struct err ignored = ERR_INIT;
	struct proc_status st;

	if (holder > 0 && proc_thread_status(holder, 0, &st, &ignored) == 0) {
		/* A process may choose any bytes as its name. */
		for (char *c = st.comm; *c; c++)
			if (*c < ' ' || *c > '~')
				*c = '?';
		err_raise(err, ERROR_LOCKED_BY, .pid = pid, .other = holder, .other_comm = st.comm);
	} else {
		err_raise(err, ERROR_LOCKED, .pid = pid);
	}
	return err_advise(err, FIX_WAIT_FOR_OTHER);
}

static int open_file(void)
{
	_cleanup_(cleanup_close) int folder = private_open(true);

	if (folder < 0)
		return -1;
	return openat(folder, LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int lock_target(pid_t pid, int *lock, struct err *err)
{
	struct flock byte = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = pid, .l_len = 1 };
	_cleanup_(cleanup_close) int fd = open_file();

	*lock = -1;
	if (fd >= 0 && fcntl(fd, F_SETLK, &byte) == 0) {
		*lock = take_fd(fd);
		return 0;
	}
	if (fd >= 0 && (errno == EAGAIN || errno == EACCES)) {
		if (fcntl(fd, F_GETLK, &byte) < 0 || byte.l_type == F_UNLCK)
			byte.l_pid = 0;
		return held_by(pid, byte.l_pid, err);
	}
	err_raise_sys(err, ERROR_UNLOCKED, errno, .pid = pid);
	return 0;
}
