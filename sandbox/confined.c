// SPDX-License-Identifier: Apache-2.0
#include "sandbox/confined.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/own_limits.h"
#include "base/vec.h"
#include "sandbox/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHUNK 65536
/* How long a child's exit may lag behind the end of its socket, on a slow machine. */
#define END_MS 10000
#define FINISH_TRIES 5000
#define MESSAGE_MAX (64u << 20)
#define LEFT_MAX 64
#define FDS_MAX 64

/* In the confined child: its socket. */
static int controller = -1;

/* 0: no limit */
static uint64_t children_max_bytes;

void confined_limit_memory(uint64_t bytes)
{
	if (!children_max_bytes || bytes < children_max_bytes)
		children_max_bytes = bytes;
}

/* --- messages: the length, then the content in pieces --- */

#define CONTROL_SIZE CMSG_SPACE(CONFINED_FDS_MAX * sizeof(int))

/* Descriptors sent or received. */
struct fds {
	int v[CONFINED_FDS_MAX];
	size_t n;
};

static bool send_piece(int sock, const void *bytes, size_t len, const struct fds *fds)
{
	char control[CONTROL_SIZE] = { 0 };
	struct iovec io = { (void *)bytes, len };
	struct msghdr msg = { .msg_iov = &io, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t sent;

	if (fds && fds->n) {
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(fds->n * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fds->n * sizeof(int));
		memcpy(CMSG_DATA(c), fds->v, fds->n * sizeof(int));
	}
	do {
		sent = sendmsg(sock, &msg, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)len;
}

static bool send_message(int sock, const struct pack *p, const struct fds *fds)
{
	uint64_t len = p->len;

	if (p->failed)
		errno = ENOMEM;
	if (p->failed || !send_piece(sock, &len, sizeof(len), fds))
		return false;
	for (size_t at = 0; at < p->len; at += CHUNK) {
		size_t n = p->len - at < CHUNK ? p->len - at : CHUNK;

		if (!send_piece(sock, p->v + at, n, NULL))
			return false;
	}
	return true;
}

static void close_fds(struct fds *fds)
{
	while (fds->n)
		close(fds->v[--fds->n]);
}

/*
 * Unwanted descriptors are not received: closing one of an unresponsive file system would block
 * forever (FUSE_FLUSH waits for the server). When the kernel discards unreceived ones, it does not
 * flush them.
 */
static ssize_t receive_piece(int sock, void *bytes, size_t size, struct fds *fds)
{
	char control[CONTROL_SIZE];
	struct iovec io = { bytes, size };
	struct msghdr msg = { .msg_iov = &io,
			      .msg_iovlen = 1,
			      .msg_control = fds ? control : NULL,
			      .msg_controllen = fds ? sizeof(control) : 0 };
	const struct cmsghdr *c;
	ssize_t got;

	do {
		got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got >= 0 && fds) {
		c = CMSG_FIRSTHDR(&msg);
		fds->n = 0;
		if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			fds->n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		if (fds->n)
			memcpy(fds->v, CMSG_DATA(c), fds->n * sizeof(int));
	}
	if (got >= 0 && (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		errno = EBADMSG;
		return -1;
	}
	return got;
}

/* FAILED with errno. */
enum received {
	RECEIVED,
	RECEIVED_LATE,
	RECEIVED_STOPPED,
	RECEIVED_END,
	RECEIVED_BAD,
	RECEIVED_FAILED
};

/*
 * Wait until `deadline_ms` (CLOCK_MONOTONIC; 0: none), or until `stop_fd` (-1: none) is readable,
 * which takes precedence over a reply.
 */
static enum received await(int sock, int stop_fd, uint64_t deadline_ms)
{
	struct pollfd fds[] = { { .fd = sock, .events = POLLIN },
				{ .fd = stop_fd, .events = POLLIN } };

	for (;;) {
		int n = poll(fds, stop_fd < 0 ? 1 : 2, deadline_ms ? ms_until(deadline_ms) : -1);

		if (n > 0)
			return fds[1].revents ? RECEIVED_STOPPED : RECEIVED;
		if (!n)
			return RECEIVED_LATE;
		if (errno != EINTR)
			return RECEIVED_FAILED;
	}
}

/* A peer that exited with unread messages resets the connection. */
static enum received no_piece(ssize_t n)
{
	return !n || errno == ECONNRESET ? RECEIVED_END : RECEIVED_FAILED;
}

static enum received receive_message(int sock, int stop_fd, uint64_t deadline_ms, size_t max,
				     unsigned char **bytes, size_t *len, struct fds *fds)
{
	_cleanup_(cleanup_free) unsigned char *got = NULL;
	enum received ready = await(sock, stop_fd, deadline_ms);
	uint64_t want;
	ssize_t n;

	if (ready != RECEIVED)
		return ready;
	n = receive_piece(sock, &want, sizeof(want), fds);
	if (n <= 0)
		return no_piece(n);
	if (n != sizeof(want) || want > max)
		return RECEIVED_BAD;
	got = malloc((size_t)want + 1);
	if (!got)
		return RECEIVED_FAILED;
	for (size_t at = 0; at < want; at += (size_t)n) {
		ready = await(sock, stop_fd, deadline_ms);
		if (ready != RECEIVED)
			return ready;
		n = receive_piece(sock, got + at, (size_t)want - at, NULL);
		if (n <= 0)
			return no_piece(n);
	}
	*bytes = take_ptr(got);
	*len = (size_t)want;
	return RECEIVED;
}

/* --- the children --- */

static void die_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

/* Restore the default actions of signals for which the controller has handlers. */
static void reset_signals(void)
{
	for (int sig = 1; sig < SIGRTMIN; sig++)
		signal(sig, sig == SIGPIPE || sig == SIGXFSZ ? SIG_IGN : SIG_DFL);
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Children that cannot continue exit with errno: see explain_end(). */

static void close_all(unsigned int from, unsigned int to)
{
	if (syscall(SYS_close_range, from, to, 0) < 0)
		_exit(errno);
}

/* Close all descriptors except these and the standard three, which become /dev/null or `out`. */
static void keep_only(int *fds, size_t n, int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), from = 3;

	if (null < 0 || dup2(null, 0) < 0 || dup2(out ? out : null, 1) < 0 ||
	    (!FENCE_SANITIZED && dup2(null, 2) < 0))
		_exit(errno);
	vec_sort(fds, n, by_number);
	for (size_t i = 0; i < n; i++) {
		if (fds[i] > from)
			close_all(from, fds[i] - 1);
		from = fds[i] >= from ? fds[i] + 1 : from;
	}
	close_all(from, ~0u);
}

static void opener_main(int sock, const struct door_policy *policy, pid_t parent)
{
	int fds[3] = { sock, policy->has_handle ? policy->handle : -1, policy->pidfd };
	struct err err = ERR_INIT;

	reset_signals();
	keep_only(fds, 3, 0);
	if (!door_needs_user(policy))
		fence_opener_leave_root();
	die_with_parent(parent);
	if (fence_opener(policy->debuginfod, &err) < 0)
		_exit(err.sys);
	door_serve(sock, policy);
	_exit(0);
}

/* A change of the user clears PR_SET_PDEATHSIG (prctl(2)). */
static int enter(const struct confined_options *o, void *ctx, pid_t parent, struct err *err)
{
	if (o->enter && o->enter(ctx, err) < 0)
		return -1;
	fence_leave_root();
	die_with_parent(parent);
	return fence_confined(err);
}

static uint64_t memory_max(const struct confined_options *o)
{
	uint64_t most = o->memory_max_bytes ? o->memory_max_bytes : CONFINED_MEMORY;

	return children_max_bytes && children_max_bytes < most ? children_max_bytes : most;
}

static void child_main(const struct confined_options *o, int sock, int door, pid_t parent,
		       confined_fn *fn, void *ctx)
{
	struct err err = ERR_INIT;
	int fds[FDS_MAX + 2];
	size_t n = 0;

	die_with_parent(parent);
	reset_signals();
	for (size_t i = 0; i < o->n_fds; i++)
		fds[n++] = o->fds[i];
	fds[n++] = sock;
	if (door >= 0)
		fds[n++] = door;
	keep_only(fds, n, o->out);
	fence_limit(RLIMIT_CORE, 0);
	fence_limit(RLIMIT_FSIZE, o->file_max_bytes ? o->file_max_bytes : CONFINED_FILE);
	fence_limit(RLIMIT_CPU, o->cpu_max_s ? o->cpu_max_s : CONFINED_CPU_S);
	/* A sanitizer reserves terabytes. */
	if (!FENCE_SANITIZED)
		fence_limit(RLIMIT_DATA, memory_max(o));
	controller = sock;
	err_forget();
	door_use(door);
	if (enter(o, ctx, parent, &err) < 0) {
		confined_reply(true, &err, NULL, -1);
		_exit(err.sys); /* for requests sent ahead */
	}
	fn(ctx);
	_exit(0);
}

struct pairs {
	int answers[2], door[2]; /* [0] is for the controller or the opener, [1] for the child */
};

static void close_pairs(const struct pairs *p)
{
	cleanup_close(&p->answers[0]);
	cleanup_close(&p->answers[1]);
	cleanup_close(&p->door[0]);
	cleanup_close(&p->door[1]);
}

static int make_pair(int pair[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int fork_both(struct confined *c, const struct confined_options *o, struct pairs *p,
		     confined_fn *fn, void *ctx)
{
	pid_t parent = getpid();

	/* Start the one with more work first. */
	c->child = fork();
	if (c->child == 0)
		child_main(o, p->answers[1], p->door[1], parent, fn, ctx);
	if (c->child < 0 || o->no_door)
		return c->child < 0 ? -1 : 0;
	c->opener = fork();
	if (c->opener == 0)
		opener_main(p->door[0], &o->policy, parent);
	return c->opener < 0 ? -1 : 0;
}

int confined_start(struct confined *c, const struct confined_options *options, confined_fn *fn,
		   void *ctx, struct err *err)
{
	_cleanup_(close_pairs) struct pairs p = { { -1, -1 }, { -1, -1 } };

	*c = (struct confined)CONFINED_UNTIL(c->stop_fd);
	c->what = options->what;
	if (options->n_fds > FDS_MAX)
		return err_raise(err, ERROR_CHILD_TOO_MANY_FILES, .what = c->what);
	if (make_pair(p.answers) || (!options->no_door && make_pair(p.door)) ||
	    fork_both(c, options, &p, fn, ctx)) {
		err_raise_sys(err, ERROR_CHILD_UNSTARTED, errno, .what = c->what);
		c->opener = c->opener > 0 ? c->opener : 0;
		c->child = c->child > 0 ? c->child : 0;
		confined_end(c);
		return -1;
	}
	c->sock = take_fd(p.answers[0]);
	return 0;
}

/* --- killing them --- */

/* Children that had not exited yet: reaped along with later ones, or by init. */
static _Atomic pid_t left[LEFT_MAX]; /* 0: free */

static void leave(pid_t pid)
{
	for (size_t i = 0; i < LEFT_MAX; i++) {
		pid_t none = 0;

		if (atomic_compare_exchange_strong(&left[i], &none, pid))
			return;
	}
}

/* Killing it loses nothing, as it only reads. Its exit is not awaited. */
static void end_child(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	if (!waitpid(pid, NULL, WNOHANG))
		leave(pid);
}

void confined_end(struct confined *c)
{
	cleanup_close(&c->sock);
	end_child(c->child);
	end_child(c->opener);
	free(c->message);
	*c = (struct confined)CONFINED_UNTIL(c->stop_fd);
	/* A thread removes an entry before it waits for it: the pid may be reused afterwards. */
	for (size_t i = 0; i < LEFT_MAX; i++) {
		pid_t pid = left[i] ? atomic_exchange(&left[i], 0) : 0;

		if (pid && !waitpid(pid, NULL, WNOHANG))
			leave(pid);
	}
}

void confined_finish(struct confined *c)
{
	const struct timespec nap = { .tv_nsec = 200000 };

	cleanup_close(&c->sock);
	c->sock = -1;
	for (int i = 0; c->child > 0 && i < FINISH_TRIES; i++) {
		if (waitpid(c->child, NULL, WNOHANG))
			c->child = 0;
		else
			nanosleep(&nap, NULL);
	}
	confined_end(c);
}

/* --- the controller's side --- */

/* Find out why it exited, for the message. */
static int explain_end(const struct confined *c, struct err *err)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t end_ms = now_ms() + END_MS;
	siginfo_t info = { 0 };
	char limits[96];

	while (!info.si_pid && now_ms() < end_ms) {
		if (waitid(P_PID, (id_t)c->child, &info, WEXITED | WNOWAIT | WNOHANG))
			break;
		nanosleep(&nap, NULL);
	}
	if (info.si_pid == c->child && info.si_code == CLD_EXITED && info.si_status)
		return err_raise_sys(err, ERROR_CHILD_FAILED, info.si_status, .what = c->what);
	if (info.si_pid != c->child || info.si_code == CLD_EXITED)
		return err_raise(err, ERROR_CHILD_EXITED, .what = c->what);
	err_raise(err, ERROR_CHILD_KILLED, .what = c->what, .signal = info.si_status);
	if (info.si_status == SIGKILL || info.si_status == SIGXCPU)
		return err_advise(err, FIX_CHILD_USED_UP);
	/*
	 * The cause may be corrupt data, or memory exhausted under a limit of ours: a stack that
	 * cannot grow raises the same signal as a wild pointer.
	 */
	if (own_limits_of_memory(limits, sizeof(limits)))
		return err_advise(err, FIX_CHILD_LIMITED, .text = limits);
	if (children_max_bytes)
		return err_advise(err, FIX_CHILD_CRAMPED, .size = (int64_t)children_max_bytes);
	return err_advise(err, FIX_CHILD_MISLED);
}

int confined_ask_with(struct confined *c, const struct pack *message, const int *fds, size_t n_fds,
		      struct err *err)
{
	struct fds with = { .n = n_fds };

	memcpy(with.v, fds, n_fds * sizeof(*fds));
	if (send_message(c->sock, message, &with))
		return 0;
	if (errno == EPIPE || errno == ECONNRESET)
		return explain_end(c, err);
	return err_raise_sys(err, ERROR_CHILD_UNREACHABLE, errno, .what = c->what);
}

int confined_ask(struct confined *c, const struct pack *message, int fd, struct err *err)
{
	return confined_ask_with(c, message, &fd, fd >= 0, err);
}

/* -1 for none. */
static int take_first(struct fds *fds, bool wanted)
{
	int fd;

	if (!wanted || !fds->n)
		return -1;
	fd = fds->v[0];
	fds->v[0] = fds->v[--fds->n];
	return fd;
}

int confined_answer(struct confined *c, unsigned int timeout_ms, size_t max, struct unpack *answer,
		    int *fd, struct err *err)
{
	struct fds fds = { .n = 0 };
	enum received received;
	size_t len = 0;
	bool failed;
	int sys;

	free(take_ptr(c->message));
	received = receive_message(c->sock, c->stop_fd, now_ms() + timeout_ms, max, &c->message,
				   &len, fd ? &fds : NULL);
	sys = errno;
	if (fd)
		*fd = take_first(&fds, received == RECEIVED);
	close_fds(&fds);
	c->broken = received != RECEIVED;
	switch (received) {
	case RECEIVED:
		break;
	case RECEIVED_LATE:
		err_raise(err, ERROR_CHILD_LATE, .what = c->what, .ms = timeout_ms);
		return err_advise(err, FIX_GIVE_IT_TIME);
	case RECEIVED_STOPPED:
		return err_raise(err, ERROR_INTERRUPTED);
	case RECEIVED_END:
		return explain_end(c, err);
	case RECEIVED_BAD:
		return err_raise(err, ERROR_CHILD_MALFORMED, .what = c->what);
	case RECEIVED_FAILED:
		return err_raise_sys(err, ERROR_CHILD_UNREACHABLE, sys, .what = c->what);
	}
	*answer = (struct unpack){ c->message, c->message + len, false };
	failed = unpack_err(answer, err);
	if (failed && err->code != ERR_NONE)
		return -1;
	c->broken = answer->bad || failed;
	return c->broken ? err_raise(err, ERROR_CHILD_MALFORMED, .what = c->what) : 0;
}

/* --- the child's side --- */

static bool next_message(struct unpack *message, struct fds *fds)
{
	static unsigned char *bytes;
	enum received received;
	size_t len = 0;

	free(take_ptr(bytes));
	err_forget();
	received = receive_message(controller, -1, 0, MESSAGE_MAX, &bytes, &len, fds);
	if (received == RECEIVED_FAILED)
		_exit(errno);
	if (received != RECEIVED)
		return false;
	*message = (struct unpack){ bytes, bytes + len, false };
	return true;
}

bool confined_inside(void)
{
	return controller >= 0;
}

bool confined_next(struct unpack *message, int *fd)
{
	struct fds fds = { .n = 0 };

	if (!next_message(message, &fds))
		return false;
	if (fd)
		*fd = take_first(&fds, true);
	close_fds(&fds);
	return true;
}

bool confined_next_with(struct unpack *message, int fds[CONFINED_FDS_MAX], size_t *n_fds)
{
	struct fds came = { .n = 0 };

	if (!next_message(message, &came))
		return false;
	memcpy(fds, came.v, came.n * sizeof(*fds));
	*n_fds = came.n;
	return true;
}

void confined_reply(bool failed, const struct err *err, const struct pack *answer, int fd)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct err why = ERR_INIT;
	struct fds fds = { .n = 0 };

	if (failed)
		why = *err;
	failed |= err_is_remembered();
	if (failed)
		err_explain(&why);
	if (!failed && fd >= 0)
		fds = (struct fds){ { fd }, 1 };
	pack_err(&p, failed ? &why : NULL);
	if (!failed && answer) {
		pack_bytes(&p, answer->v, answer->len);
		p.failed |= answer->failed;
	}
	/* If out of memory for the reply, it exits, which the controller detects. */
	if (!send_message(controller, &p, &fds))
		_exit(errno);
}
