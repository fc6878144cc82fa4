// SPDX-License-Identifier: Apache-2.0
#include "serve/front.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/spawn.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CHANNEL_BYTES (1 << 20)

_Static_assert(SPAWN_ALSO == WIRE_FD, "the front expects its channel there");

/*
 * Its path relative to this program, in a build or portable folder or installed. The environment is
 * not consulted.
 */
static int find_program(char *path, size_t size, struct err *err)
{
	static const char *const places[] = { "libexec/jeprof-ctl/http",
					      "../libexec/jeprof-ctl/http" };
	char own[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	own[len > 0 ? len : 0] = '\0';
	slash = strrchr(own, '/');
	if (!slash)
		return err_raise_sys(err, ERROR_FRONT_MISSING, errno, .path = "/proc/self/exe");
	*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, size, "%s/%s", own, places[i]);
		if (!access(path, X_OK))
			return 0;
	}
	err_raise_sys(err, ERROR_FRONT_MISSING, ENOENT, .path = path);
	return err_advise(err, FIX_INSTALL_FRONT);
}

int front_start(struct front *f, const struct serve_request *r, struct err *err)
{
	_cleanup_(cleanup_close) int ours = -1, theirs = -1;
	char path[2 * PATH_MAX], words[16],
		*argv[2 * SERVE_HOSTS_MAX + 6] = { path }, *const env[] = { NULL };
	struct spawn s = { path, argv, env, -1, r->log_fd, r->log_fd, 0 };
	int pair[2], bytes = CHANNEL_BYTES, failed, n = 1;

	if (find_program(path, sizeof(path), err))
		return -1;
	for (size_t i = 0; i < r->n_hosts && i < SERVE_HOSTS_MAX; i++) {
		argv[n++] = (char *)"--host";
		argv[n++] = (char *)r->hosts[i];
	}
	if (r->certificate)
		argv[n++] = (char *)"--tls";
	if (r->words) {
		snprintf(words, sizeof(words), "%u", r->words);
		argv[n++] = (char *)"--words";
		argv[n++] = words;
	}
	if (r->one_pid || r->one_comm)
		argv[n] = (char *)"--at-root";
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_raise_sys(err, ERROR_FRONT_NOT_STARTED, errno, .path = path);
	ours = pair[0];
	theirs = s.also = pair[1];
	fcntl(ours, F_SETFL, O_NONBLOCK);
	setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	failed = spawn(&s, &f->pid);
	if (failed)
		return err_raise_sys(err, ERROR_FRONT_NOT_STARTED, failed, .path = path);
	f->pidfd = (int)syscall(SYS_pidfd_open, f->pid, 0);
	f->channel = take_fd(ours);
	f->ready = false;
	f->begun_ms = now_ms();
	if (f->pidfd >= 0)
		return 0;
	err_raise_sys(err, ERROR_FRONT_NOT_STARTED, errno, .path = path);
	front_end(f);
	return -1;
}

int front_end(struct front *f)
{
	int status = 0;

	/* Before it notices the closed channel and exits by itself. */
	if (f->pid > 0) {
		kill(f->pid, SIGKILL);
		while (waitpid(f->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	cleanup_close(&f->channel);
	cleanup_close(&f->pidfd);
	*f = (struct front)FRONT_INIT;
	return status;
}
