// SPDX-License-Identifier: Apache-2.0
/* Calls that wait for files: pipes, locks, terminals, completions. */
#include "tests/target/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

int mine, theirs;
uint64_t got;
static char path[64]; /* in the current folder, which is the test's own */

bool arrived(long ret)
{
	answer(ret);
	return got == token();
}

bool send_token(void)
{
	uint64_t word = token();

	return write(theirs, &word, sizeof(word)) == sizeof(word);
}

/* A token that arrived after the call was over must not end the next one. */
bool clear(void)
{
	struct pollfd pfd = { .fd = mine, .events = POLLIN };
	uint64_t word;

	got = 0;
	while (poll(&pfd, 1, 0) == 1 && (pfd.revents & POLLIN))
		if (read(mine, &word, sizeof(word)) <= 0)
			break;
	return true;
}

/* --- reading ------------------------------------------------------------------------- */

bool set_up_pipe(void)
{
	int fds[2];

	if (pipe(fds) < 0)
		return false;
	mine = fds[0];
	theirs = fds[1];
	return true;
}

static bool set_up_eventfd(void)
{
	mine = theirs = eventfd(0, 0);
	return mine >= 0;
}

static bool set_up_timerfd(void)
{
	mine = timerfd_create(CLOCK_MONOTONIC, 0);
	return mine >= 0;
}

static bool set_timerfd(void)
{
	const struct itimerspec soon = { .it_value.tv_nsec = 1000000 };

	return timerfd_settime(mine, 0, &soon, NULL) == 0;
}

static bool set_up_pty(void)
{
	struct termios t;

	if (openpty(&theirs, &mine, NULL, NULL, NULL) < 0 || tcgetattr(mine, &t) < 0)
		return false;
	cfmakeraw(&t);
	t.c_cc[VMIN] = sizeof(got);
	return tcsetattr(mine, TCSANOW, &t) == 0;
}

static bool set_up_inotify(void)
{
	mine = inotify_init();
	snprintf(path, sizeof(path), "folder.%d", victim);
	return mine >= 0 && mkdir(path, 0700) == 0 && inotify_add_watch(mine, path, IN_CREATE) > 0;
}

static bool create_file(void)
{
	char name[80];
	int fd;

	snprintf(name, sizeof(name), "%s/file", path);
	fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	return fd >= 0 && close(fd) == 0 && unlink(name) == 0;
}

static bool set_up_signalfd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	mine = signalfd(-1, &set, 0);
	return mine >= 0 && sigprocmask(SIG_BLOCK, &set, NULL) == 0;
}

bool signal_victim(void)
{
	return kill(victim, SIGUSR1) == 0;
}

static bool do_read(struct call_case *c)
{
	(void)c;
	return arrived(read(mine, &got, sizeof(got)));
}

static bool do_read_timerfd(struct call_case *c)
{
	(void)c;
	answer(read(mine, &got, sizeof(got)));
	return got == 1;
}

static bool do_read_inotify(struct call_case *c)
{
	struct {
		struct inotify_event event;
		char name[NAME_MAX + 1];
	} in;
	ssize_t n = read(mine, &in, sizeof(in));

	(void)c;
	answer(n > 0 ? 0 : n);
	return n > 0 && in.event.mask == IN_CREATE && strcmp(in.name, "file") == 0;
}

static bool do_read_signalfd(struct call_case *c)
{
	struct signalfd_siginfo info = { 0 };

	(void)c;
	answer(read(mine, &info, sizeof(info)));
	return info.ssi_signo == SIGUSR1;
}

static bool do_readv(struct call_case *c)
{
	struct iovec io[2] = { { &got, 3 }, { (char *)&got + 3, 5 } };

	(void)c;
	return arrived(readv(mine, io, 2));
}

static bool do_preadv2(struct call_case *c)
{
	struct iovec io = { &got, sizeof(got) };

	(void)c;
	return arrived(preadv2(mine, &io, 1, -1, 0));
}

/* --- locks, names -------------------------------------------------------------------- */

static bool set_up_lock(void)
{
	mine = memfd_create("calls", MFD_CLOEXEC);
	return mine >= 0;
}

static bool reopen(void)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", mine);
	theirs = open(name, O_RDWR);
	return theirs >= 0;
}

static bool hold_flock(void)
{
	return reopen() && flock(theirs, LOCK_EX) == 0;
}

static bool hold_record(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(mine, F_SETLK, &lock) == 0;
}

static bool leave(void)
{
	return true; /* when the helper exits, its locks are released */
}

static bool do_flock(struct call_case *c)
{
	(void)c;
	answer(flock(mine, LOCK_EX));
	return flock(mine, LOCK_UN) == 0;
}

static bool lock_record(int command)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	answer(fcntl(mine, command, &lock));
	lock.l_type = F_UNLCK;
	return fcntl(mine, command, &lock) == 0;
}

static bool do_setlkw(struct call_case *c)
{
	(void)c;
	return lock_record(F_SETLKW);
}

static bool do_ofd_setlkw(struct call_case *c)
{
	(void)c;
	return lock_record(F_OFD_SETLKW);
}

static bool make_fifo(void)
{
	snprintf(path, sizeof(path), "fifo.%d", victim);
	return mkfifo(path, 0600) == 0;
}

static bool open_fifo(void)
{
	return open(path, O_WRONLY) >= 0;
}

static bool do_open(struct call_case *c)
{
	int fd = open(path, O_RDONLY);

	(void)c;
	answer(fd < 0 ? -1 : 0);
	return fd >= 0 && close(fd) == 0;
}

/* --- asynchronous I/O ---------------------------------------------------------------- */

static aio_context_t aio;

static bool set_up_aio(void)
{
	return set_up_pipe() && syscall(SYS_io_setup, 4, &aio) == 0;
}

static bool submit_poll(void)
{
	struct iocb cb = { .aio_fildes = (uint32_t)mine,
			   .aio_lio_opcode = IOCB_CMD_POLL,
			   .aio_buf = POLLIN };
	struct iocb *list = &cb;

	return clear() && syscall(SYS_io_submit, aio, 1, &list) == 1;
}

static bool do_getevents(struct call_case *c)
{
	struct io_event ev = { 0 };

	(void)c;
	answer(syscall(SYS_io_getevents, aio, 1, 1, &ev, NULL));
	return (ev.res & POLLIN) && read(mine, &got, sizeof(got)) == sizeof(got) && got == token();
}

static bool do_pgetevents(struct call_case *c)
{
	struct io_event ev = { 0 };

	(void)c;
	answer(syscall(SYS_io_pgetevents, aio, 1, 1, &ev, NULL, NULL));
	return (ev.res & POLLIN) && read(mine, &got, sizeof(got)) == sizeof(got) && got == token();
}

static bool do_getevents_timeout(struct call_case *c)
{
	struct timespec ts = in_time();
	struct io_event ev;

	(void)c;
	answer(syscall(SYS_io_getevents, aio, 1, 1, &ev, &ts));
	return true;
}

static struct uring {
	int fd;
	struct io_uring_params p;
	unsigned char *rings; /* both in one mapping (IORING_FEAT_SINGLE_MMAP) */
	struct io_uring_sqe *sqes;
} uring;

static bool set_up_uring(void)
{
	uring.fd = (int)syscall(SYS_io_uring_setup, 4, &uring.p);
	if (uring.fd < 0 || !set_up_pipe())
		return false;
	uring.rings =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, uring.fd, IORING_OFF_SQ_RING);
	uring.sqes =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, uring.fd, IORING_OFF_SQES);
	return uring.rings != MAP_FAILED && (void *)uring.sqes != MAP_FAILED;
}

static uint32_t *ring(uint32_t offset)
{
	return (uint32_t *)(uring.rings + offset);
}

static bool do_uring(struct call_case *c)
{
	uint32_t tail = *ring(uring.p.sq_off.tail), slot = tail & *ring(uring.p.sq_off.ring_mask);
	uint32_t head = *ring(uring.p.cq_off.head);
	struct io_uring_cqe *cqe = (struct io_uring_cqe *)(uring.rings + uring.p.cq_off.cqes) +
				   (head & *ring(uring.p.cq_off.ring_mask));

	(void)c;
	uring.sqes[slot] = (struct io_uring_sqe){
		.opcode = IORING_OP_POLL_ADD, .fd = mine, .poll32_events = POLLIN, .user_data = 1
	};
	ring(uring.p.sq_off.array)[slot] = slot;
	__atomic_store_n(ring(uring.p.sq_off.tail), tail + 1, __ATOMIC_SEQ_CST);
	answer(syscall(SYS_io_uring_enter, uring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0));
	if (__atomic_load_n(ring(uring.p.cq_off.tail), __ATOMIC_SEQ_CST) != head + 1 ||
	    !(cqe->res & POLLIN))
		return false;
	__atomic_store_n(ring(uring.p.cq_off.head), head + 1, __ATOMIC_SEQ_CST);
	return read(mine, &got, sizeof(got)) == sizeof(got) && got == token();
}

struct call_case calls_of_files[] = {
	/* name, number, kind; answer, errno; call, set_up, prepare, hold, release; EINTR */
	{ "read-pipe", SYS_read, UNTIMED, 8, 0, do_read, set_up_pipe, clear, NULL, send_token, 0 },
	{ "read-eventfd", SYS_read, UNTIMED, 8, 0, do_read, set_up_eventfd, clear, NULL, send_token,
	  0 },
	{ "read-timerfd", SYS_read, UNTIMED, 8, 0, do_read_timerfd, set_up_timerfd, clear, NULL,
	  set_timerfd, 0 },
	{ "read-inotify", SYS_read, UNTIMED, 0, 0, do_read_inotify, set_up_inotify, NULL, NULL,
	  create_file, 0 },
	{ "read-signalfd", SYS_read, UNTIMED, sizeof(struct signalfd_siginfo), 0, do_read_signalfd,
	  set_up_signalfd, NULL, NULL, signal_victim, 0 },
	{ "read-pty", SYS_read, UNTIMED, 8, 0, do_read, set_up_pty, clear, NULL, send_token, 0 },
	{ "readv", SYS_readv, UNTIMED, 8, 0, do_readv, set_up_pipe, clear, NULL, send_token, 0 },
	{ "preadv2", SYS_preadv2, UNTIMED, 8, 0, do_preadv2, set_up_pipe, clear, NULL, send_token,
	  0 },
	{ "flock", SYS_flock, UNTIMED, 0, 0, do_flock, set_up_lock, NULL, hold_flock, leave, 0 },
	{ "fcntl-setlkw", SYS_fcntl, UNTIMED, 0, 0, do_setlkw, set_up_lock, NULL, hold_record,
	  leave, 0 },
	{ "fcntl-ofd-setlkw", SYS_fcntl, UNTIMED, 0, 0, do_ofd_setlkw, set_up_lock, NULL,
	  hold_record, leave, 0 },
	{ "open-fifo", SYS_openat, UNTIMED, 0, 0, do_open, make_fifo, NULL, NULL, open_fifo, 0 },
	{ "io_getevents", SYS_io_getevents, UNTIMED, 1, 0, do_getevents, set_up_aio, submit_poll,
	  NULL, send_token, 1 },
	{ "io_pgetevents", SYS_io_pgetevents, UNTIMED, 1, 0, do_pgetevents, set_up_aio, submit_poll,
	  NULL, send_token, 0 },
	{ "io_getevents-timeout", SYS_io_getevents, ANEW, 0, 0, do_getevents_timeout, set_up_aio,
	  NULL, NULL, NULL, 1 },
	{ "io_uring_enter", SYS_io_uring_enter, NEVER, 1, 0, do_uring, set_up_uring, clear, NULL,
	  send_token, 0 },
	{ NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, 0 },
};
