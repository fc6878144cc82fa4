// SPDX-License-Identifier: Apache-2.0
/* Calls that wait for a socket, or for room to write. */
#include "tests/target/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

/* --- sockets ------------------------------------------------------------------------- */

static bool set_up_stream(void)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		return false;
	mine = fds[0];
	theirs = fds[1];
	return true;
}

static bool limit_receive(int fd)
{
	const struct timeval tv = { .tv_sec = CALL_MS / 1000, .tv_usec = CALL_MS % 1000 * 1000 };

	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0;
}

static bool set_up_limited(void)
{
	return set_up_stream() && limit_receive(mine);
}

static bool do_read_socket(struct call_case *c)
{
	(void)c;
	return arrived(read(mine, &got, sizeof(got)));
}

static bool do_recv(struct call_case *c)
{
	(void)c;
	return arrived(recv(mine, &got, sizeof(got), 0));
}

static bool do_recv_timeout(struct call_case *c)
{
	(void)c;
	answer(recv(mine, &got, sizeof(got), 0));
	return true;
}

static bool do_read_timeout(struct call_case *c)
{
	(void)c;
	answer(read(mine, &got, sizeof(got)));
	return true;
}

static bool send_half(void)
{
	uint64_t word = token();

	return write(theirs, &word, 4) == 4;
}

static bool send_rest(void)
{
	uint64_t word = token();

	return write(theirs, (char *)&word + 4, 4) == 4;
}

static bool do_recv_all(struct call_case *c)
{
	(void)c;
	return arrived(recv(mine, &got, sizeof(got), MSG_WAITALL));
}

static bool do_recvmsg(struct call_case *c)
{
	struct iovec io = { &got, sizeof(got) };
	struct msghdr msg = { .msg_iov = &io, .msg_iovlen = 1 };

	(void)c;
	return arrived(recvmsg(mine, &msg, 0));
}

static bool set_up_datagrams(void)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) < 0)
		return false;
	mine = fds[0];
	theirs = fds[1];
	return true;
}

static bool do_recvmmsg_n(unsigned int n, int flags)
{
	uint64_t words[2] = { 0, 0 };
	struct iovec io[2] = { { &words[0], 8 }, { &words[1], 8 } };
	struct mmsghdr m[2] = { { .msg_hdr = { .msg_iov = &io[0], .msg_iovlen = 1 } },
				{ .msg_hdr = { .msg_iov = &io[1], .msg_iovlen = 1 } } };

	answer(recvmmsg(mine, m, n, flags, NULL));
	return words[0] == token() && (n == 1 || flags || words[1] == token());
}

static bool do_recvmmsg(struct call_case *c)
{
	(void)c;
	return do_recvmmsg_n(1, 0);
}

static bool do_recvmmsg_one(struct call_case *c)
{
	(void)c;
	return do_recvmmsg_n(2, MSG_WAITFORONE);
}

static bool do_recvmmsg_two(struct call_case *c)
{
	(void)c;
	return do_recvmmsg_n(2, 0);
}

static struct sockaddr_un address(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	/* An abstract name needs no file, and disappears with its socket. */
	snprintf(sun.sun_path + 1, sizeof(sun.sun_path) - 1, "calls.%d", victim);
	return sun;
}

static bool set_up_listener(int backlog)
{
	struct sockaddr_un sun = address();

	mine = socket(AF_UNIX, SOCK_STREAM, 0);
	return mine >= 0 && bind(mine, (struct sockaddr *)&sun, sizeof(sun)) == 0 &&
	       listen(mine, backlog) == 0;
}

static bool set_up_accept(void)
{
	return set_up_listener(8);
}

static bool set_up_accept_limited(void)
{
	return set_up_listener(8) && limit_receive(mine);
}

static bool connect_to_victim(void)
{
	struct sockaddr_un sun = address();
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return fd >= 0 && connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0;
}

static bool accepted(int fd)
{
	answer(fd < 0 ? -1 : 0);
	return fd < 0 || close(fd) == 0;
}

static bool do_accept(struct call_case *c)
{
	(void)c;
	return accepted(accept(mine, NULL, NULL));
}

static bool do_accept4(struct call_case *c)
{
	(void)c;
	return accepted(accept4(mine, NULL, NULL, SOCK_CLOEXEC));
}

static bool do_accept_timeout(struct call_case *c)
{
	(void)c;
	answer(accept(mine, NULL, NULL));
	return true;
}

/* One connection waits to be accepted, and there is no room for another. */
static bool set_up_connect(void)
{
	return set_up_listener(0) && connect_to_victim();
}

static bool accept_one(void)
{
	return accept(mine, NULL, NULL) >= 0;
}

static bool do_connect(struct call_case *c)
{
	struct sockaddr_un sun = address();
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)c;
	answer(connect(fd, (struct sockaddr *)&sun, sizeof(sun)));
	return close(fd) == 0;
}

/* --- writing ------------------------------------------------------------------------- */

/* `theirs` is the read end, `mine` the write end. */
static bool set_up_full_pipe(void)
{
	int fds[2];

	if (pipe(fds) < 0)
		return false;
	theirs = fds[0];
	mine = fds[1];
	return true;
}

static bool fill(void)
{
	char page[4096] = { 0 };
	struct pollfd pfd = { .fd = mine, .events = POLLOUT };

	while (poll(&pfd, 1, 0) == 1)
		if (write(mine, page, sizeof(page)) < 0)
			return false;
	return true;
}

static bool fill_stream(void)
{
	char page[4096] = { 0 };

	while (send(mine, page, sizeof(page), MSG_DONTWAIT) > 0)
		;
	return errno == EAGAIN;
}

/* Read everything up to the victim's token. */
static bool drain(void)
{
	char page[4096];
	ssize_t n;
	uint64_t last = 0;

	while (last != token()) {
		n = read(theirs, page, sizeof(page));
		if (n < (ssize_t)sizeof(last))
			return false;
		memcpy(&last, page + n - sizeof(last), sizeof(last));
	}
	return true;
}

static bool do_write(struct call_case *c)
{
	uint64_t word = token();

	(void)c;
	answer(write(mine, &word, sizeof(word)));
	return true;
}

static bool do_writev(struct call_case *c)
{
	uint64_t word = token();
	struct iovec io = { &word, sizeof(word) };

	(void)c;
	answer(writev(mine, &io, 1));
	return true;
}

static bool do_send(struct call_case *c)
{
	uint64_t word = token();

	(void)c;
	answer(send(mine, &word, sizeof(word), 0));
	return true;
}

static bool do_sendmsg(struct call_case *c)
{
	uint64_t word = token();
	struct iovec io = { &word, sizeof(word) };
	struct msghdr msg = { .msg_iov = &io, .msg_iovlen = 1 };

	(void)c;
	answer(sendmsg(mine, &msg, 0));
	return true;
}

static bool do_sendfile(struct call_case *c)
{
	uint64_t word = token();
	int fd = memfd_create("calls", MFD_CLOEXEC);
	off_t at = 0;

	if (fd < 0 || write(fd, &word, sizeof(word)) != sizeof(word))
		FOUND(failed);
	(void)c;
	answer(sendfile(mine, fd, &at, sizeof(word)));
	close(fd);
	return at == sizeof(word);
}

static bool do_splice(struct call_case *c)
{
	static int out[2];

	if (!out[1] && pipe(out) < 0)
		FOUND(failed);
	(void)c;
	answer(splice(mine, NULL, out[1], NULL, sizeof(got), 0));
	return read(out[0], &got, sizeof(got)) == sizeof(got) && got == token();
}

struct call_case calls_of_sockets[] = {
	/* name, number, kind; answer, errno; call, set_up, prepare, hold, release; EINTR */
	{ "read-socketpair", SYS_read, UNTIMED, 8, 0, do_read_socket, set_up_stream, clear, NULL,
	  send_token, 0 },
	{ "recv", SYS_recvfrom, UNTIMED, 8, 0, do_recv, set_up_stream, clear, NULL, send_token, 0 },
	{ "recv-rcvtimeo", SYS_recvfrom, ANEW, -1, EAGAIN, do_recv_timeout, set_up_limited, clear,
	  NULL, NULL, 1 },
	{ "read-rcvtimeo", SYS_read, ANEW, -1, EAGAIN, do_read_timeout, set_up_limited, clear, NULL,
	  NULL, 1 },
	{ "recvmsg", SYS_recvmsg, UNTIMED, 8, 0, do_recvmsg, set_up_stream, clear, NULL, send_token,
	  0 },
	{ "recvmmsg", SYS_recvmmsg, UNTIMED, 1, 0, do_recvmmsg, set_up_datagrams, NULL, NULL,
	  send_token, 0 },
	{ "recvmmsg-waitforone", SYS_recvmmsg, UNTIMED, 1, 0, do_recvmmsg_one, set_up_datagrams,
	  NULL, NULL, send_token, 0 },
	{ "recvmmsg-half", SYS_recvmmsg, NEVER, 2, 0, do_recvmmsg_two, set_up_datagrams, NULL,
	  send_token, send_token, 0 },
	{ "recv-waitall", SYS_recvfrom, NEVER, 8, 0, do_recv_all, set_up_stream, clear, send_half,
	  send_rest, 0 },
	{ "accept", SYS_accept, UNTIMED, 0, 0, do_accept, set_up_accept, NULL, NULL,
	  connect_to_victim, 0 },
	{ "accept4", SYS_accept4, UNTIMED, 0, 0, do_accept4, set_up_accept, NULL, NULL,
	  connect_to_victim, 0 },
	{ "accept-rcvtimeo", SYS_accept, ANEW, -1, EAGAIN, do_accept_timeout, set_up_accept_limited,
	  NULL, NULL, NULL, 1 },
	{ "connect", SYS_connect, NEVER, 0, 0, do_connect, set_up_connect, NULL, NULL, accept_one,
	  0 },
	{ "write-full-pipe", SYS_write, NEVER, 8, 0, do_write, set_up_full_pipe, NULL, fill, drain,
	  0 },
	{ "writev-full-pipe", SYS_writev, NEVER, 8, 0, do_writev, set_up_full_pipe, NULL, fill,
	  drain, 0 },
	{ "send-full-socket", SYS_sendto, NEVER, 8, 0, do_send, set_up_stream, NULL, fill_stream,
	  drain, 0 },
	{ "sendmsg-full-socket", SYS_sendmsg, NEVER, 8, 0, do_sendmsg, set_up_stream, NULL,
	  fill_stream, drain, 0 },
	{ "sendfile-full-pipe", SYS_sendfile, NEVER, 8, 0, do_sendfile, set_up_full_pipe, NULL,
	  fill, drain, 0 },
	{ "splice", SYS_splice, NEVER, 8, 0, do_splice, set_up_pipe, clear, NULL, send_token, 0 },
	{ NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, 0 },
};
