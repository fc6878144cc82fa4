// SPDX-License-Identifier: Apache-2.0
/*
 * ticks BOARD CALL MS: waits in one system call with a relative timeout, again and again, and
 * measures how much each wait ended too late or too early. `ticks list` prints the calls.
 *
 * The board's words after struct board's own: the number of waits that ended; the latest and the
 * earliest end, in us relative to when it was due.
 */
#include "tests/target/victim.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

static struct ticks {
	uint64_t ended, late_us, early_us;
} * ticks;

static int epoll, pipes[2], sockets[2], semaphore, ms;
static aio_context_t aio;

static struct timespec in_time(void)
{
	return (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static long with_epoll_wait(void)
{
	struct epoll_event ev;

	return epoll_wait(epoll, &ev, 1, ms);
}

static long with_epoll_pwait(void)
{
	struct epoll_event ev;

	return epoll_pwait(epoll, &ev, 1, ms, NULL);
}

static long with_poll(void)
{
	struct pollfd fd = { .fd = pipes[0], .events = POLLIN };

	return poll(&fd, 1, ms);
}

/*
 * Two inline system calls, of which the second uses what the first left in the timeout's register:
 * a compiler may do that.
 */
static long with_kept(void)
{
	register long timeout __asm__("r10") = ms;
	struct epoll_event ev;
	long ret;

	__asm__ volatile("syscall\n\tmov %2, %%eax\n\tsyscall"
			 : "=&a"(ret), "+r"(timeout)
			 : "i"(SYS_epoll_wait), "0"((long)SYS_epoll_wait), "D"(epoll), "S"(&ev),
			   "d"(1)
			 : "rcx", "r11", "memory");
	return ret;
}

static long with_epoll_pwait2(void)
{
	struct timespec ts = in_time();
	struct epoll_event ev;

	return syscall(SYS_epoll_pwait2, epoll, &ev, 1, &ts, NULL, 8);
}

static long with_ppoll(void)
{
	struct pollfd fd = { .fd = pipes[0], .events = POLLIN };
	struct timespec ts = in_time();

	return ppoll(&fd, 1, &ts, NULL);
}

static long with_select(void)
{
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	return syscall(SYS_select, 0, NULL, NULL, NULL, &tv);
}

static long with_pselect(void)
{
	struct timespec ts = in_time();

	return pselect(0, NULL, NULL, NULL, &ts, NULL);
}

static long with_nanosleep(void)
{
	struct timespec ts = in_time();

	return nanosleep(&ts, NULL);
}

static long with_futex(void)
{
	struct timespec ts = in_time();
	static uint32_t word;

	return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &ts, NULL, 0);
}

static long with_sigtimedwait(void)
{
	struct timespec ts = in_time();
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return sigtimedwait(&set, NULL, &ts);
}

static long with_semtimedop(void)
{
	struct sembuf op = { .sem_op = -1 };
	struct timespec ts = in_time();

	return semtimedop(semaphore, &op, 1, &ts);
}

static long with_io_getevents(void)
{
	struct timespec ts = in_time();
	struct io_event ev;

	return syscall(SYS_io_getevents, aio, 1, 1, &ev, &ts);
}

static long with_io_pgetevents(void)
{
	struct timespec ts = in_time();
	struct io_event ev;

	return syscall(SYS_io_pgetevents, aio, 1, 1, &ev, &ts, NULL);
}

static long with_recv(void)
{
	char byte;

	return recv(sockets[0], &byte, 1, 0);
}

static const struct {
	const char *name, *where;
	long (*wait)(void);
} calls[] = {
	{ "epoll_wait", "register", with_epoll_wait },
	{ "epoll_pwait", "register", with_epoll_pwait },
	{ "poll", "register", with_poll },
	{ "ppoll", "kernel", with_ppoll },
	{ "select", "kernel", with_select },
	{ "pselect6", "kernel", with_pselect },
	{ "nanosleep", "kernel", with_nanosleep },
	{ "futex", "kernel", with_futex },
	{ "epoll_wait-kept", "kept", with_kept }, /* twice */
	{ "epoll_pwait2", "memory", with_epoll_pwait2 },
	{ "rt_sigtimedwait", "memory", with_sigtimedwait },
	{ "semtimedop", "memory", with_semtimedop },
	{ "io_getevents", "memory", with_io_getevents },
	{ "io_pgetevents", "memory", with_io_pgetevents },
	{ "recv", "socket", with_recv },
};
#define N_CALLS (sizeof(calls) / sizeof(*calls))

static bool set_up(void)
{
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	epoll = epoll_create1(0);
	semaphore = semget(IPC_PRIVATE, 1, 0600);
	if (epoll < 0 || semaphore < 0 || pipe(pipes) < 0 ||
	    sigprocmask(SIG_BLOCK, &set, NULL) < 0 ||
	    socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) < 0 || syscall(SYS_io_setup, 8, &aio) < 0)
		return false;
	return setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0;
}

static volatile sig_atomic_t ending;

static void end(int sig)
{
	ending = sig;
}

static void tick(long (*wait)(void))
{
	uint64_t due = now_us() + (uint64_t)ms * 1000 * (wait == with_kept ? 2 : 1), over;
	long ret;

	errno = 0;
	ret = wait();
	over = now_us();
	if (!ending && (ret == -EINTR || (ret < 0 && errno == EINTR)))
		FOUND(eintr);
	if (over > due && over - due > ticks->late_us)
		ticks->late_us = over - due;
	if (over < due && due - over > ticks->early_us)
		ticks->early_us = due - over;
	ticks->ended++;
}

int main(int argc, char **argv)
{
	const struct sigaction act = { .sa_handler = end };
	size_t i = 0;

	if (argc == 2 && strcmp(argv[1], "list") == 0) {
		for (; i < N_CALLS; i++)
			printf("%s %s\n", calls[i].name, calls[i].where);
		return 0;
	}
	while (argc == 4 && i < N_CALLS && strcmp(calls[i].name, argv[2]) != 0)
		i++;
	if (argc != 4 || i == N_CALLS) {
		fprintf(stderr, "usage: ticks BOARD CALL MS | ticks list\n");
		return 2;
	}
	victim_open(argv[1]);
	ticks = (struct ticks *)board->beats;
	ms = atoi(argv[3]);
	if (!set_up()) {
		fprintf(stderr, "%s cannot be set up: %s\n", argv[2], strerror(errno));
		return 2;
	}
	sigaction(SIGTERM, &act, NULL);
	victim_ready(0);
	while (!ending)
		tick(calls[i].wait);
	semctl(semaphore, 0, IPC_RMID); /* otherwise, it would outlive us */
	return 0;
}
