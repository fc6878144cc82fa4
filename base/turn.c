// SPDX-License-Identifier: Apache-2.0
#include "base/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int turn_make(void)
{
	return memfd_create("turn", MFD_CLOEXEC);
}

static int lock(int fd, enum turn turn, short type)
{
	struct flock one = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)turn, .l_len = 1
	};

	return fcntl(fd, F_SETLKW, &one);
}

void turn_take(int fd, enum turn turn)
{
	while (fd && lock(fd, turn, F_WRLCK) && errno == EINTR)
		;
}

void turn_give(int fd, enum turn turn)
{
	if (fd)
		lock(fd, turn, F_UNLCK);
}
