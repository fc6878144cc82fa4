// SPDX-License-Identifier: Apache-2.0
#include "base/signals.h"

#include "base/cleanup.h"

#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

bool stop_asked(int stop_fd)
{
	struct pollfd p = { .fd = stop_fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

int signals_open(struct signals *s, struct err *err)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	s->fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0)
		return err_raise_sys(err, ERROR_SIGNALS_UNAVAILABLE, errno);
	sigprocmask(SIG_BLOCK, &ends, &s->before);
	return 0;
}

void signals_close(struct signals *s)
{
	struct signalfd_siginfo info;

	if (s->fd < 0)
		return;
	while (read(s->fd, &info, sizeof(info)) > 0)
		;
	sigprocmask(SIG_SETMASK, &s->before, NULL);
	cleanup_close(&s->fd);
	s->fd = -1;
}
