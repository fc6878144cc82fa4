// SPDX-License-Identifier: Apache-2.0
#include "serve/listen.h"

#include "base/cleanup.h"
#include "base/private.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define BACKLOG 128
#define HANDED_FIRST 3 /* sd_listen_fds(3), SD_LISTEN_FDS_START */

/* --- from systemd --- */

static bool is_listening(int fd)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	int listening = 0;
	socklen_t size = sizeof(listening);

	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) && listening &&
	       !getsockname(fd, (struct sockaddr *)&address, &len) && address.ss_family == AF_UNIX;
}

/* How many it handed to this process; its variables are not for our children. */
static int handed_over(void)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
	struct err ignored;
	int64_t who, count;
	bool ours = pid && n && !text_int_parse(pid, 1, INT_MAX, &who, &ignored) &&
		    who == getpid() && !text_int_parse(n, 0, LISTENERS_MAX, &count, &ignored);

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return ours ? (int)count : 0;
}

static int take_handed(struct listeners *l, int n, struct err *err)
{
	for (int fd = HANDED_FIRST; fd < HANDED_FIRST + n; fd++) {
		if (!is_listening(fd))
			return err_raise(err, ERROR_HANDED_NO_SOCKET, .number = fd);
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
		l->v[l->n++] = fd;
	}
	snprintf(l->where, sizeof(l->where), "a socket of systemd");
	return 0;
}

/* --- our own --- */

/* The folder of base/private.h is its owner's alone; others may pass through it, and see nothing. */
static int default_path(char *path, size_t size, bool passed, struct err *err)
{
	_cleanup_(cleanup_close) int folder = private_open(true);
	char private[PATH_MAX - 16];

	private_path(private, sizeof(private));
	if (folder < 0 || (passed && fchmod(folder, 0711)))
		return err_raise_sys(err, ERROR_SOCKET_FAILED, errno, .path = private);
	snprintf(path, size, "%s/http.sock", private);
	return 0;
}

/* A socket that nobody listens to was left by one that was killed. */
static int remove_left(const struct sockaddr_un *un, struct err *err)
{
	_cleanup_(cleanup_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat st;

	if (lstat(un->sun_path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return err_raise_sys(err, ERROR_SOCKET_FAILED, ENOTSOCK, .path = un->sun_path);
	if (fd < 0 || !connect(fd, (const struct sockaddr *)un, sizeof(*un)) || errno == EAGAIN)
		return err_raise(err, ERROR_SOCKET_TAKEN, .path = un->sun_path);
	if (errno != ECONNREFUSED || unlink(un->sun_path))
		return err_raise_sys(err, ERROR_SOCKET_FAILED, errno, .path = un->sun_path);
	return 0;
}

static int find_group(const char *name, gid_t *gid, struct err *err)
{
	const struct group *g = getgrnam(name);

	if (!g)
		return err_raise(err, ERROR_NO_SUCH_GROUP, .name = name);
	*gid = g->gr_gid;
	return 0;
}

/* Nobody may connect before it has its group and its mode. */
static int bind_socket(int fd, const struct sockaddr_un *un, gid_t gid, bool grouped)
{
	mode_t before = umask(0777);
	int bound = bind(fd, (const struct sockaddr *)un, sizeof(*un));

	umask(before);
	if (bound || (grouped && lchown(un->sun_path, (uid_t)-1, gid)))
		return -1;
	return chmod(un->sun_path, grouped ? 0660 : 0600) || listen(fd, BACKLOG) ? -1 : 0;
}

static int make_socket(struct listeners *l, const struct serve_request *r, struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	char path[PATH_MAX];
	gid_t gid = 0;

	if (r->group && find_group(r->group, &gid, err))
		return -1;
	if (r->socket)
		snprintf(path, sizeof(path), "%s", r->socket);
	else if (default_path(path, sizeof(path), r->group != NULL, err))
		return -1;
	if (strlen(path) >= sizeof(un.sun_path))
		return err_raise_sys(err, ERROR_SOCKET_FAILED, ENAMETOOLONG, .path = path);
	memcpy(un.sun_path, path, strlen(path) + 1);
	if (remove_left(&un, err))
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind_socket(fd, &un, gid, r->group != NULL))
		return err_raise_sys(err, ERROR_SOCKET_FAILED, errno, .path = path);
	memcpy(l->path, path, sizeof(path));
	snprintf(l->where, sizeof(l->where), "%s", path);
	l->v[l->n++] = take_fd(fd);
	return 0;
}

int listeners_open(struct listeners *l, const struct serve_request *request, struct err *err)
{
	int handed = handed_over();

	*l = (struct listeners){ 0 };
	return handed ? take_handed(l, handed, err) : make_socket(l, request, err);
}

void listeners_close(struct listeners *l)
{
	for (size_t i = 0; i < l->n; i++)
		close(l->v[i]);
	if (l->path[0])
		unlink(l->path);
	*l = (struct listeners){ 0 };
}

int listener_accept(int listener, struct serve_peer *peer)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred who;
	socklen_t len = sizeof(who);

	if (fd < 0)
		return -1;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len)) {
		close(fd);
		return -1;
	}
	*peer = (struct serve_peer){ WIRE_UNIX, who.uid, who.pid };
	return fd;
}

void listen_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (!len || len >= sizeof(un.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(un.sun_path, path, len);
	if (*path == '@')
		un.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&un,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}
