// SPDX-License-Identifier: Apache-2.0
#include "ops/record/wait.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

int record_signals_open(struct record_signals *s, struct err *err)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	s->fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0)
		return err_sys(err, ERR_FAILED, errno, "cannot wait for signals");
	sigprocmask(SIG_BLOCK, &ends, &s->before);
	return 0;
}

/* Whoever pressed Ctrl-C twice wanted the same twice. */
void record_signals_close(struct record_signals *s)
{
	if (s->fd < 0)
		return;
	while (record_signals_come(s))
		;
	sigprocmask(SIG_SETMASK, &s->before, NULL);
	cleanup_close(&s->fd);
	s->fd = -1;
}

bool record_signals_come(const struct record_signals *s)
{
	struct signalfd_siginfo info;

	return read(s->fd, &info, sizeof(info)) == (ssize_t)sizeof(info);
}

enum record_wake record_wait(const struct record_signals *s, const struct proc *p,
			     uint64_t until_ms)
{
	struct pollfd fds[] = {
		{ .fd = s->fd, .events = POLLIN },
		{ .fd = p->pidfd, .events = POLLIN },
	};
	uint64_t now = now_ms(), left = until_ms > now ? until_ms - now : 0;

	if (poll(fds, 2, left < INT_MAX ? (int)left : INT_MAX) <= 0)
		return RECORD_TIME;
	if (fds[1].revents)
		return RECORD_ENDED;
	return record_signals_come(s) ? RECORD_SIGNAL : RECORD_TIME;
}
