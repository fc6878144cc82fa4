// SPDX-License-Identifier: Apache-2.0
#include "serve/listen.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/private.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#define BACKLOG 128
#define LOCK_MS 10000
#define HANDED_FIRST 3 /* sd_listen_fds(3), SD_LISTEN_FDS_START */

/* --- addresses --- */

/* "127.0.0.1:19477", "[::1]:19477" */
static void address_text(const struct sockaddr_storage *a, char text[SERVE_ADDRESS_SIZE])
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)a;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)a;
	char host[INET6_ADDRSTRLEN] = "";

	if (a->ss_family == AF_INET && inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host)))
		snprintf(text, SERVE_ADDRESS_SIZE, "%s:%u", host, ntohs(in->sin_port));
	else if (inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host)))
		snprintf(text, SERVE_ADDRESS_SIZE, "[%s]:%u", host, ntohs(in6->sin6_port));
	else
		text[0] = '\0';
}

static void add(struct listeners *l, int fd, enum wire_transport transport)
{
	l->transport[l->n] = transport;
	l->v[l->n++] = fd;
}

/* Add a TCP socket; *text is its address. */
static void add_port(struct listeners *l, int fd, bool tls, char text[SERVE_ADDRESS_SIZE])
{
	struct sockaddr_storage address = { 0 };
	socklen_t len = sizeof(address);

	add(l, fd, tls ? WIRE_TLS : WIRE_TCP);
	getsockname(fd, (struct sockaddr *)&address, &len);
	address_text(&address, text);
	if (!l->port[0])
		memcpy(l->port, text, sizeof(l->port));
}

/* Connections from other hosts must be encrypted. */
static int check_reach(const struct sockaddr_storage *address, const char *text, bool tls,
		       struct err *err)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	bool loopback =
		address->ss_family == AF_INET
			? ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
			: address->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);

	if (tls || loopback)
		return 0;
	err_raise(err, ERROR_LISTEN_BEYOND_LOOPBACK, .text = text);
	return err_advise(err, FIX_LISTEN_ON_LOOPBACK);
}

/* --- from systemd --- */

/* Is it a listening socket of a family we serve? */
static bool is_listener(int fd, struct sockaddr_storage *address)
{
	socklen_t len = sizeof(*address);
	int listening = 0;
	socklen_t size = sizeof(listening);

	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) && listening &&
	       !getsockname(fd, (struct sockaddr *)address, &len) &&
	       (address->ss_family == AF_UNIX || address->ss_family == AF_INET ||
		address->ss_family == AF_INET6);
}

/* How many sockets it passed to this process. Unsets its variables: children must not see them. */
static int handed_over(void)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
	struct err ignored;
	int64_t who, count;
	bool ours = pid && n && !text_int_parse(pid, 1, INT_MAX, &who, &ignored) &&
		    who == getpid() && !text_int_parse(n, 0, INT_MAX - 1, &count, &ignored);

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return ours ? (int)count : 0;
}

static int take_handed(struct listeners *l, int n, bool tls, struct err *err)
{
	if (n > LISTENERS_MAX)
		return err_raise(err, ERROR_HANDED_TOO_MANY, .number = n, .limit = LISTENERS_MAX);
	for (int fd = HANDED_FIRST; fd < HANDED_FIRST + n; fd++) {
		struct sockaddr_storage address = { 0 };
		char text[SERVE_ADDRESS_SIZE];

		if (!is_listener(fd, &address))
			return err_raise(err, ERROR_HANDED_NO_SOCKET, .number = fd);
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
		if (address.ss_family == AF_UNIX) {
			add(l, fd, WIRE_UNIX);
			continue;
		}
		address_text(&address, text);
		if (check_reach(&address, text, tls, err))
			return -1;
		add_port(l, fd, tls, text);
	}
	snprintf(l->where, sizeof(l->where), "a socket of systemd");
	return 0;
}

/* --- our own --- */

/* The folder is private to its owner; with `passed`, others may traverse but not list it. */
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

/*
 * Between the check of the path and listen(2), another service that starts would take our socket
 * for a stale one. So starts are serialized by a lock file beside the socket, which is removed
 * afterwards: a lock only counts while its file still has that name.
 */
static int lock_path(const char *path, char lock[PATH_MAX], struct err *err)
{
	uint64_t until = now_ms() + LOCK_MS;

	if (snprintf(lock, PATH_MAX, "%s.lock", path) >= PATH_MAX)
		return err_raise_sys(err, ERROR_SOCKET_FAILED, ENAMETOOLONG, .path = path);
	while (now_ms() < until) {
		_cleanup_(cleanup_close) int fd =
			open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		const struct timespec nap = { .tv_nsec = 10 * 1000000 };
		struct stat ours, named;

		if (fd < 0 || fstat(fd, &ours))
			return err_raise_sys(err, ERROR_SOCKET_FAILED, errno, .path = lock);
		if (flock(fd, LOCK_EX | LOCK_NB))
			nanosleep(&nap, NULL);
		else if (!lstat(lock, &named) && named.st_ino == ours.st_ino)
			return take_fd(fd);
	}
	return err_raise(err, ERROR_SOCKET_TAKEN, .path = path);
}

/* A socket without a listener is stale: its service was killed. */
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

static int make_at(const struct sockaddr_un *un, const struct group *group, struct listeners *l,
		   struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	const char *path = un->sun_path;
	struct stat st;
	mode_t before;
	int failed;

	if (remove_left(un, err))
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_raise_sys(err, ERROR_SOCKET_FAILED, errno, .path = path);
	/* No client may connect before it has its group and mode. */
	before = umask(0777);
	failed = bind(fd, (const struct sockaddr *)un, sizeof(*un));
	umask(before);
	if (failed || (group && lchown(path, (uid_t)-1, group->gr_gid)) ||
	    chmod(path, group ? 0660 : 0600) || listen(fd, BACKLOG) || lstat(path, &st))
		return err_raise_sys(err, ERROR_SOCKET_FAILED, errno, .path = path);
	snprintf(l->path, sizeof(l->path), "%s", path);
	l->inode = st.st_ino;
	add(l, take_fd(fd), WIRE_UNIX);
	return 0;
}

static int make_socket(struct listeners *l, const struct serve_request *r, struct err *err)
{
	_cleanup_(cleanup_close) int held = -1;
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	const struct group *group = r->group ? getgrnam(r->group) : NULL;
	char path[PATH_MAX], lock[PATH_MAX];
	int failed;

	if (r->group && !group)
		return err_raise(err, ERROR_NO_SUCH_GROUP, .name = r->group);
	if (r->socket)
		snprintf(path, sizeof(path), "%s", r->socket);
	else if (default_path(path, sizeof(path), group != NULL, err))
		return -1;
	if (strlen(path) >= sizeof(un.sun_path))
		return err_raise_sys(err, ERROR_SOCKET_FAILED, ENAMETOOLONG, .path = path);
	memcpy(un.sun_path, path, strlen(path) + 1);
	held = lock_path(path, lock, err);
	if (held < 0)
		return -1;
	failed = make_at(&un, group, l, err);
	unlink(lock);
	snprintf(l->where, sizeof(l->where), "%s", path);
	return failed;
}

/* "localhost:19477", "127.0.0.1:19477", "[::1]:19477" */
static int parse_address(const char *text, struct sockaddr_storage *a, socklen_t *len,
			 struct err *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE };
	const char *colon = strrchr(text, ':');
	struct addrinfo *found = NULL;
	char host[SERVE_ADDRESS_SIZE];
	int64_t port;

	if (!colon || colon - text >= (int)sizeof(host) ||
	    text_int_parse(colon + 1, 0, UINT16_MAX, &port, err))
		return err_raise(err, ERROR_ADDRESS_MALFORMED, .text = text);
	snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	if (!strcmp(host, "localhost"))
		snprintf(host, sizeof(host), "127.0.0.1");
	if (host[0] == '[' && host[strlen(host) - 1] == ']') {
		host[strlen(host) - 1] = '\0';
		memmove(host, host + 1, strlen(host));
	}
	if (!host[0] || getaddrinfo(host, colon + 1, &hints, &found))
		return err_raise(err, ERROR_ADDRESS_MALFORMED, .text = text);
	memcpy(a, found->ai_addr, found->ai_addrlen);
	*len = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

/* *real: the address with its actual port, if that was 0. */
static int open_port(struct listeners *l, const char *text, bool tls, char real[SERVE_ADDRESS_SIZE],
		     struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	struct sockaddr_storage address = { 0 };
	socklen_t len = 0;
	int yes = 1;

	if (l->n == LISTENERS_MAX)
		return err_raise(err, ERROR_NOT_IN_RANGE, .number = 1, .limit = LISTENERS_MAX - 1,
				 .text = text);
	if (parse_address(text, &address, &len, err) || check_reach(&address, text, tls, err))
		return -1;
	fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    bind(fd, (struct sockaddr *)&address, len) || listen(fd, BACKLOG))
		return err_raise_sys(err, ERROR_SOCKET_FAILED, errno, .path = text);
	add_port(l, take_fd(fd), tls, real);
	return 0;
}

static int open_all(struct listeners *l, const struct serve_request *r, struct err *err)
{
	bool has_socket = !r->socket || *r->socket;
	size_t at;

	if (has_socket && make_socket(l, r, err))
		return -1;
	for (size_t i = 0; i < r->n_ports; i++) {
		char text[SERVE_ADDRESS_SIZE];

		if (open_port(l, r->ports[i], r->certificate, text, err))
			return -1;
		at = strlen(l->where);
		snprintf(l->where + at, sizeof(l->where) - at, "%shttp%s://%s/", at ? ", " : "",
			 r->certificate ? "s" : "", text);
	}
	return 0;
}

int listeners_open(struct listeners *l, const struct serve_request *request, struct err *err)
{
	int handed = handed_over();

	*l = (struct listeners){ 0 };
	if (!(handed ? take_handed(l, handed, request->certificate, err)
		     : open_all(l, request, err)))
		return 0;
	listeners_close(l);
	return -1;
}

void listeners_close(struct listeners *l)
{
	struct stat st;

	/*
	 * Another service may have replaced it. Unlink before closing: while it listens, no other
	 * service takes it for a stale one and replaces it between lstat(2) and unlink(2).
	 */
	if (l->path[0] && !lstat(l->path, &st) && st.st_ino == l->inode)
		unlink(l->path);
	for (size_t i = 0; i < l->n; i++)
		close(l->v[i]);
	*l = (struct listeners){ 0 };
}

int listener_accept(int listener, enum wire_transport transport, struct serve_peer *peer)
{
	struct sockaddr_storage address = { 0 };
	socklen_t len = sizeof(address);
	int fd = accept4(listener, (struct sockaddr *)&address, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred who = { 0 };
	socklen_t size = sizeof(who);

	if (fd < 0)
		return -1;
	*peer = (struct serve_peer){ .transport = transport };
	if (transport != WIRE_UNIX) {
		address_text(&address, peer->address);
		return fd;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size)) {
		close(fd);
		return -1;
	}
	peer->uid = who.uid;
	peer->pid = who.pid;
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
