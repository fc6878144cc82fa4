// SPDX-License-Identifier: Apache-2.0
/* Calls that wait for time, for events on descriptors, or for a futex. */
#include "tests/target/calls.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

#define CALL(name) static bool name(struct call_case *c __attribute__((unused)))

static uint64_t ns_of(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000000 + (uint64_t)ts->tv_nsec;
}

/* --- time ---------------------------------------------------------------------------- */

CALL(do_nanosleep)
{
	struct timespec ts = in_time();

	answer(syscall(SYS_nanosleep, &ts, NULL));
	return true;
}

/* It is ended by a signal: the remaining time must be what is left of the whole timeout. */
CALL(do_nanosleep_rem)
{
	struct timespec ts = in_time(), rem = { 0 };

	answer(syscall(SYS_nanosleep, &ts, &rem));
	now->remains_ns = ns_of(&rem);
	return true;
}

CALL(do_clock_nanosleep)
{
	struct timespec ts = in_time();

	answer(syscall(SYS_clock_nanosleep, CLOCK_BOOTTIME, 0, &ts, NULL));
	return true;
}

CALL(do_clock_nanosleep_rem)
{
	struct timespec ts = in_time(), rem = { 0 };

	answer(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, &rem));
	now->remains_ns = ns_of(&rem);
	return true;
}

CALL(do_clock_nanosleep_abs)
{
	struct timespec ts = at_time(CLOCK_REALTIME);

	answer(syscall(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL));
	return true;
}

static void count_signal(int sig)
{
	(void)sig;
}

static bool set_up_signal(void)
{
	const struct sigaction act = { .sa_handler = count_signal };

	return sigaction(SIGUSR1, &act, NULL) == 0;
}

/* --- descriptors --------------------------------------------------------------------- */

static int epoll;

static bool set_up_epoll(void)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = 42 };

	epoll = epoll_create1(0);
	return epoll >= 0 && set_up_pipe() && epoll_ctl(epoll, EPOLL_CTL_ADD, mine, &ev) == 0;
}

static bool readable(void)
{
	return read(mine, &got, sizeof(got)) == sizeof(got) && got == token();
}

CALL(do_poll)
{
	struct pollfd pfd = { .fd = mine, .events = POLLIN };

	answer(poll(&pfd, 1, -1));
	return pfd.revents == POLLIN && readable();
}

CALL(do_poll_timeout)
{
	struct pollfd pfd = { .fd = mine, .events = POLLIN };

	answer(poll(&pfd, 1, CALL_MS));
	return pfd.revents == 0;
}

CALL(do_ppoll)
{
	struct pollfd pfd = { .fd = mine, .events = POLLIN };

	answer(ppoll(&pfd, 1, NULL, NULL));
	return pfd.revents == POLLIN && readable();
}

CALL(do_ppoll_timeout)
{
	struct pollfd pfd = { .fd = mine, .events = POLLIN };
	struct timespec ts = in_time();

	answer(ppoll(&pfd, 1, &ts, NULL));
	return pfd.revents == 0;
}

/* The system call returns the remaining time; the C library's function hides it. */
CALL(do_ppoll_rem)
{
	struct pollfd pfd = { .fd = mine, .events = POLLIN };
	struct timespec ts = in_time();

	answer(syscall(SYS_ppoll, &pfd, 1, &ts, NULL, 8));
	now->remains_ns = ns_of(&ts);
	return pfd.revents == POLLIN && readable();
}

static long do_select_with(struct timeval *tv)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(mine, &set);
	return syscall(SYS_select, mine + 1, &set, NULL, NULL, tv); /* select() uses pselect6(2) */
}

CALL(do_select)
{
	answer(do_select_with(NULL));
	return readable();
}

CALL(do_select_timeout)
{
	struct timeval tv = { .tv_sec = CALL_MS / 1000, .tv_usec = CALL_MS % 1000 * 1000 };

	answer(do_select_with(&tv));
	return tv.tv_sec == 0 && tv.tv_usec == 0;
}

CALL(do_select_rem)
{
	struct timeval tv = { .tv_sec = CALL_MS / 1000, .tv_usec = CALL_MS % 1000 * 1000 };

	answer(do_select_with(&tv));
	now->remains_ns = (uint64_t)tv.tv_sec * 1000000000 + (uint64_t)tv.tv_usec * 1000;
	return readable();
}

CALL(do_pselect)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(mine, &set);
	answer(pselect(mine + 1, &set, NULL, NULL, NULL, NULL));
	return FD_ISSET(mine, &set) && readable();
}

CALL(do_pselect_timeout)
{
	struct timespec ts = in_time();
	fd_set set;

	FD_ZERO(&set);
	FD_SET(mine, &set);
	answer(pselect(mine + 1, &set, NULL, NULL, &ts, NULL));
	return !FD_ISSET(mine, &set);
}

CALL(do_epoll_wait)
{
	struct epoll_event ev = { 0 };

	answer(epoll_wait(epoll, &ev, 1, -1));
	return ev.data.u64 == 42 && readable();
}

CALL(do_epoll_wait_timeout)
{
	struct epoll_event ev;

	answer(epoll_wait(epoll, &ev, 1, CALL_MS));
	return true;
}

CALL(do_epoll_pwait)
{
	struct epoll_event ev = { 0 };
	sigset_t set;

	sigemptyset(&set);
	answer(epoll_pwait(epoll, &ev, 1, -1, &set));
	return ev.data.u64 == 42 && readable();
}

CALL(do_epoll_pwait_timeout)
{
	struct epoll_event ev;

	answer(epoll_pwait(epoll, &ev, 1, CALL_MS, NULL));
	return true;
}

CALL(do_epoll_pwait2)
{
	struct epoll_event ev = { 0 };

	answer(syscall(SYS_epoll_pwait2, epoll, &ev, 1, NULL, NULL, 8));
	return ev.data.u64 == 42 && readable();
}

CALL(do_epoll_pwait2_timeout)
{
	struct timespec ts = in_time();
	struct epoll_event ev;

	answer(syscall(SYS_epoll_pwait2, epoll, &ev, 1, &ts, NULL, 8));
	return true;
}

/* --- futex --------------------------------------------------------------------------- */

static struct {
	uint32_t word;
	sem_t sem;
	pthread_mutex_t mutex, pi;
	pthread_cond_t cond;
} * shared;

static bool set_up_shared(void)
{
	pthread_mutexattr_t ma;
	pthread_condattr_t ca;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if ((void *)shared == MAP_FAILED || sem_init(&shared->sem, 1, 0) < 0)
		return false;
	pthread_mutexattr_init(&ma);
	pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->mutex, &ma);
	pthread_mutexattr_setprotocol(&ma, PTHREAD_PRIO_INHERIT);
	pthread_condattr_init(&ca);
	pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
	return pthread_mutex_init(&shared->pi, &ma) == 0 &&
	       pthread_cond_init(&shared->cond, &ca) == 0;
}

static bool wake(void)
{
	__atomic_fetch_add(&shared->word, 1, __ATOMIC_SEQ_CST);
	return syscall(SYS_futex, &shared->word, FUTEX_WAKE, 1, NULL, NULL, 0) == 1;
}

static bool post(void)
{
	return sem_post(&shared->sem) == 0;
}

static bool signal_cond(void)
{
	return pthread_mutex_lock(&shared->mutex) == 0 && pthread_cond_signal(&shared->cond) == 0 &&
	       pthread_mutex_unlock(&shared->mutex) == 0;
}

static bool hold_mutex(void)
{
	return pthread_mutex_lock(&shared->mutex) == 0;
}

static bool free_mutex(void)
{
	return pthread_mutex_unlock(&shared->mutex) == 0;
}

static bool hold_pi(void)
{
	return pthread_mutex_lock(&shared->pi) == 0;
}

static bool free_pi(void)
{
	return pthread_mutex_unlock(&shared->pi) == 0;
}

CALL(do_futex)
{
	answer(syscall(SYS_futex, &shared->word, FUTEX_WAIT, shared->word, NULL, NULL, 0));
	return true;
}

CALL(do_futex_timeout)
{
	struct timespec ts = in_time();

	answer(syscall(SYS_futex, &shared->word, FUTEX_WAIT, shared->word, &ts, NULL, 0));
	return true;
}

static void waitv(const struct timespec *until)
{
	struct futex_waitv v = { .val = shared->word,
				 .uaddr = (uintptr_t)&shared->word,
				 .flags = FUTEX_32 };

	answer(syscall(SYS_futex_waitv, &v, 1, 0, until, CLOCK_MONOTONIC));
}

CALL(do_futex_waitv)
{
	waitv(NULL);
	return true;
}

CALL(do_futex_waitv_timeout)
{
	struct timespec ts = at_time(CLOCK_MONOTONIC);

	waitv(&ts);
	return true;
}

CALL(do_sem_wait)
{
	answer(sem_wait(&shared->sem));
	return true;
}

CALL(do_sem_timedwait)
{
	struct timespec ts = at_time(CLOCK_REALTIME);

	answer(sem_timedwait(&shared->sem, &ts));
	return true;
}

/* These functions return their error; a spurious wakeup would show as an early return. */
static void answer_error(int error)
{
	errno = error;
	answer(error ? -1 : 0);
}

CALL(do_cond_wait)
{
	pthread_mutex_lock(&shared->mutex);
	answer_error(pthread_cond_wait(&shared->cond, &shared->mutex));
	return pthread_mutex_unlock(&shared->mutex) == 0;
}

CALL(do_cond_timedwait)
{
	struct timespec ts = at_time(CLOCK_REALTIME);

	pthread_mutex_lock(&shared->mutex);
	answer_error(pthread_cond_timedwait(&shared->cond, &shared->mutex, &ts));
	return pthread_mutex_unlock(&shared->mutex) == 0;
}

CALL(do_mutex)
{
	answer_error(pthread_mutex_lock(&shared->mutex));
	return pthread_mutex_unlock(&shared->mutex) == 0;
}

CALL(do_mutex_pi)
{
	answer_error(pthread_mutex_lock(&shared->pi));
	return pthread_mutex_unlock(&shared->pi) == 0;
}

#define WAKE set_up_shared, NULL, NULL
#define FD set_up_pipe, clear, NULL
#define EPOLL set_up_epoll, clear, NULL

struct call_case calls_of_waits[] = {
	/* name, number, kind; answer, errno; call, set_up, prepare, hold, release; EINTR */
	{ "nanosleep", SYS_nanosleep, TIMED, 0, 0, do_nanosleep, NULL, NULL, NULL, NULL, 0 },
	{ "nanosleep-rem", SYS_nanosleep, TIMED, -1, EINTR, do_nanosleep_rem, set_up_signal, NULL,
	  NULL, signal_victim, 0 },
	{ "clock_nanosleep", SYS_clock_nanosleep, TIMED, 0, 0, do_clock_nanosleep, NULL, NULL, NULL,
	  NULL, 0 },
	{ "clock_nanosleep-rem", SYS_clock_nanosleep, TIMED, -1, EINTR, do_clock_nanosleep_rem,
	  set_up_signal, NULL, NULL, signal_victim, 0 },
	{ "clock_nanosleep-abs", SYS_clock_nanosleep, TIMED, 0, 0, do_clock_nanosleep_abs, NULL,
	  NULL, NULL, NULL, 0 },
	{ "poll", SYS_poll, UNTIMED, 1, 0, do_poll, FD, send_token, 0 },
	{ "poll-timeout", SYS_poll, TIMED, 0, 0, do_poll_timeout, FD, NULL, 0 },
	{ "ppoll", SYS_ppoll, UNTIMED, 1, 0, do_ppoll, FD, send_token, 0 },
	{ "ppoll-timeout", SYS_ppoll, TIMED, 0, 0, do_ppoll_timeout, FD, NULL, 0 },
	{ "ppoll-rem", SYS_ppoll, TIMED, 1, 0, do_ppoll_rem, FD, send_token, 0 },
	{ "select", SYS_select, UNTIMED, 1, 0, do_select, FD, send_token, 0 },
	{ "select-timeout", SYS_select, TIMED, 0, 0, do_select_timeout, FD, NULL, 0 },
	{ "select-rem", SYS_select, TIMED, 1, 0, do_select_rem, FD, send_token, 0 },
	{ "pselect6", SYS_pselect6, UNTIMED, 1, 0, do_pselect, FD, send_token, 0 },
	{ "pselect6-timeout", SYS_pselect6, TIMED, 0, 0, do_pselect_timeout, FD, NULL, 0 },
	{ "epoll_wait", SYS_epoll_wait, UNTIMED, 1, 0, do_epoll_wait, EPOLL, send_token, 1 },
	{ "epoll_wait-timeout", SYS_epoll_wait, TIMED, 0, 0, do_epoll_wait_timeout, EPOLL, NULL,
	  1 },
	{ "epoll_pwait", SYS_epoll_pwait, UNTIMED, 1, 0, do_epoll_pwait, EPOLL, send_token, 1 },
	{ "epoll_pwait-timeout", SYS_epoll_pwait, TIMED, 0, 0, do_epoll_pwait_timeout, EPOLL, NULL,
	  1 },
	{ "epoll_pwait2", SYS_epoll_pwait2, UNTIMED, 1, 0, do_epoll_pwait2, EPOLL, send_token, 1 },
	{ "epoll_pwait2-timeout", SYS_epoll_pwait2, ANEW, 0, 0, do_epoll_pwait2_timeout, EPOLL,
	  NULL, 1 },
	{ "futex", SYS_futex, UNTIMED, 0, 0, do_futex, WAKE, wake, 0 },
	{ "futex-timeout", SYS_futex, TIMED, -1, ETIMEDOUT, do_futex_timeout, WAKE, NULL, 0 },
	{ "futex_waitv", SYS_futex_waitv, UNTIMED, 0, 0, do_futex_waitv, WAKE, wake, 0 },
	{ "futex_waitv-timeout", SYS_futex_waitv, TIMED, -1, ETIMEDOUT, do_futex_waitv_timeout,
	  WAKE, NULL, 0 },
	{ "sem_wait", SYS_futex, UNTIMED, 0, 0, do_sem_wait, WAKE, post, 0 },
	{ "sem_timedwait", SYS_futex, TIMED, -1, ETIMEDOUT, do_sem_timedwait, WAKE, NULL, 0 },
	{ "pthread_cond_wait", SYS_futex, UNTIMED, 0, 0, do_cond_wait, WAKE, signal_cond, 0 },
	{ "pthread_cond_timedwait", SYS_futex, TIMED, -1, ETIMEDOUT, do_cond_timedwait, WAKE, NULL,
	  0 },
	{ "pthread_mutex_lock", SYS_futex, UNTIMED, 0, 0, do_mutex, set_up_shared, NULL, hold_mutex,
	  free_mutex, 0 },
	{ "pthread_mutex_lock-pi", SYS_futex, UNTIMED, 0, 0, do_mutex_pi, set_up_shared, NULL,
	  hold_pi, free_pi, 0 },
	{ NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, 0 },
};
