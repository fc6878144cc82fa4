// SPDX-License-Identifier: Apache-2.0
/* Calls that wait for a signal, for a child, or for System V and POSIX IPC. */
#include "tests/target/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALL(name) static bool name(struct call_case *c __attribute__((unused)))

/* --- signals ------------------------------------------------------------------------- */

static volatile sig_atomic_t handled;

static void count_signal(int sig)
{
	(void)sig;
	handled++;
}

static bool none_handled(void)
{
	handled = 0;
	return true;
}

static bool set_up_handler(void)
{
	const struct sigaction act = { .sa_handler = count_signal };

	return sigaction(SIGUSR1, &act, NULL) == 0;
}

/* SIGUSR1 is blocked, except in calls that have their own mask. */
static bool set_up_masked(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return set_up_pipe() && set_up_handler() && sigprocmask(SIG_BLOCK, &set, NULL) == 0;
}

/* One signal was handled during the call, and the mask is restored. */
static bool handled_one(void)
{
	sigset_t set;

	return sigprocmask(SIG_BLOCK, NULL, &set) == 0 && sigismember(&set, SIGUSR1) &&
	       !sigismember(&set, SIGUSR2) && handled == 1;
}

CALL(do_pause)
{
	answer(pause());
	return handled == 1;
}

CALL(do_sigsuspend)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	answer(sigsuspend(&set));
	return handled_one();
}

CALL(do_ppoll_mask)
{
	struct pollfd pfd = { .fd = mine, .events = POLLIN };
	sigset_t set;

	sigemptyset(&set);
	answer(ppoll(&pfd, 1, NULL, &set));
	return handled_one();
}

CALL(do_pselect_mask)
{
	sigset_t set;

	sigemptyset(&set);
	answer(pselect(0, NULL, NULL, NULL, NULL, &set));
	return handled_one();
}

CALL(do_epoll_pwait_mask)
{
	static int epoll;
	struct epoll_event ev;
	sigset_t set;

	if (!epoll)
		epoll = epoll_create1(0);
	sigemptyset(&set);
	answer(epoll_pwait(epoll, &ev, 1, -1, &set));
	return handled_one();
}

static bool queue_signal(void)
{
	return sigqueue(victim, SIGUSR1, (union sigval){ .sival_int = (int)now->go }) == 0;
}

CALL(do_sigwaitinfo)
{
	siginfo_t info = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	answer(sigwaitinfo(&set, &info));
	return info.si_value.sival_int == (int)now->go && handled == 0;
}

CALL(do_sigtimedwait)
{
	struct timespec ts = in_time();
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	answer(sigtimedwait(&set, NULL, &ts));
	return handled == 0;
}

/* --- children ------------------------------------------------------------------------ */

static bool leave(void)
{
	return true;
}

CALL(do_wait4)
{
	int status = -1;

	answer(wait4(-1, &status, 0, NULL) > 0 ? 0 : -1);
	return status == 0;
}

CALL(do_waitid)
{
	siginfo_t info = { 0 };

	answer(waitid(P_ALL, 0, &info, WEXITED));
	return info.si_code == CLD_EXITED && info.si_status == 0;
}

/* --- queues and semaphores ----------------------------------------------------------- */

struct message {
	long type;
	uint64_t word;
};
static int queue, sems;
static mqd_t mq;

static bool set_up_queue(void)
{
	/* What is created here disappears with the process, even without a reboot. */
	if (unshare(CLONE_NEWIPC) < 0 && errno != EPERM)
		return false;
	queue = msgget(IPC_PRIVATE, 0600);
	return queue >= 0;
}

static bool set_up_sems(void)
{
	if (unshare(CLONE_NEWIPC) < 0 && errno != EPERM)
		return false;
	sems = semget(IPC_PRIVATE, 1, 0600);
	return sems >= 0;
}

static bool set_up_mq(void)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = sizeof(got) };

	if (unshare(CLONE_NEWIPC) < 0 && errno != EPERM)
		return false;
	mq = mq_open("/calls", O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	return mq >= 0 && mq_unlink("/calls") == 0;
}

static bool send_message(void)
{
	struct message m = { 1, token() };

	return msgsnd(queue, &m, sizeof(m.word), 0) == 0;
}

CALL(do_msgrcv)
{
	struct message m = { 0, 0 };

	answer(msgrcv(queue, &m, sizeof(m.word), 0, 0));
	return m.word == token();
}

static bool fill_queue(void)
{
	struct message m = { 2, 0 };

	while (msgsnd(queue, &m, sizeof(m.word), IPC_NOWAIT) == 0)
		;
	return errno == EAGAIN;
}

static bool take_message(void)
{
	struct message m;

	return msgrcv(queue, &m, sizeof(m.word), 2, 0) == sizeof(m.word) &&
	       msgrcv(queue, &m, sizeof(m.word), 1, 0) == sizeof(m.word) && m.word == token();
}

CALL(do_msgsnd)
{
	struct message m = { 1, token() };

	answer(msgsnd(queue, &m, sizeof(m.word), 0));
	return true;
}

static bool sem_up(void)
{
	struct sembuf op = { 0, 1, 0 };

	return semop(sems, &op, 1) == 0;
}

CALL(do_semop)
{
	struct sembuf op = { 0, -1, 0 };

	answer(syscall(SYS_semop, sems, &op, 1));
	return semctl(sems, 0, GETVAL) == 0;
}

CALL(do_semtimedop)
{
	struct sembuf op = { 0, -1, 0 };

	answer(syscall(SYS_semtimedop, sems, &op, 1, NULL));
	return semctl(sems, 0, GETVAL) == 0;
}

CALL(do_semtimedop_timeout)
{
	struct sembuf op = { 0, -1, 0 };
	struct timespec ts = in_time();

	answer(syscall(SYS_semtimedop, sems, &op, 1, &ts));
	return true;
}

static bool send_mq(void)
{
	uint64_t word = token();

	return mq_send(mq, (char *)&word, sizeof(word), 0) == 0;
}

CALL(do_mq_receive)
{
	return arrived(mq_receive(mq, (char *)&got, sizeof(got), NULL));
}

CALL(do_mq_timedreceive)
{
	struct timespec ts = at_time(CLOCK_REALTIME);

	answer(mq_timedreceive(mq, (char *)&got, sizeof(got), NULL, &ts));
	return true;
}

/* Receive what filled the queue, then what the victim has sent. */
static bool take_mq(void)
{
	uint64_t word = 0;

	for (int i = 0; i < 2; i++)
		if (mq_receive(mq, (char *)&word, sizeof(word), NULL) != sizeof(word))
			return false;
	return word == token();
}

CALL(do_mq_send)
{
	uint64_t word = token();

	answer(mq_send(mq, (char *)&word, sizeof(word), 0));
	return true;
}

struct call_case calls_of_others[] = {
	/* name, number, kind; answer, errno; call, set_up, prepare, hold, release; EINTR */
	{ "pause", SYS_pause, UNTIMED, -1, EINTR, do_pause, set_up_handler, none_handled, NULL,
	  signal_victim, 0 },
	{ "sigsuspend", SYS_rt_sigsuspend, UNTIMED, -1, EINTR, do_sigsuspend, set_up_masked,
	  none_handled, NULL, signal_victim, 0 },
	{ "ppoll-mask", SYS_ppoll, UNTIMED, -1, EINTR, do_ppoll_mask, set_up_masked, none_handled,
	  NULL, signal_victim, 0 },
	{ "pselect6-mask", SYS_pselect6, UNTIMED, -1, EINTR, do_pselect_mask, set_up_masked,
	  none_handled, NULL, signal_victim, 0 },
	{ "epoll_pwait-mask", SYS_epoll_pwait, UNTIMED, -1, EINTR, do_epoll_pwait_mask,
	  set_up_masked, none_handled, NULL, signal_victim, 1 },
	{ "sigwaitinfo", SYS_rt_sigtimedwait, UNTIMED, SIGUSR1, 0, do_sigwaitinfo, set_up_masked,
	  none_handled, NULL, queue_signal, 1 },
	{ "sigtimedwait", SYS_rt_sigtimedwait, ANEW, -1, EAGAIN, do_sigtimedwait, set_up_masked,
	  none_handled, NULL, NULL, 1 },
	{ "wait4", SYS_wait4, UNTIMED, 0, 0, do_wait4, NULL, NULL, NULL, leave, 0 },
	{ "waitid", SYS_waitid, UNTIMED, 0, 0, do_waitid, NULL, NULL, NULL, leave, 0 },
	{ "msgrcv", SYS_msgrcv, UNTIMED, 8, 0, do_msgrcv, set_up_queue, NULL, NULL, send_message,
	  0 },
	{ "msgsnd-full", SYS_msgsnd, UNTIMED, 0, 0, do_msgsnd, set_up_queue, NULL, fill_queue,
	  take_message, 0 },
	{ "semop", SYS_semop, UNTIMED, 0, 0, do_semop, set_up_sems, NULL, NULL, sem_up, 1 },
	{ "semtimedop", SYS_semtimedop, UNTIMED, 0, 0, do_semtimedop, set_up_sems, NULL, NULL,
	  sem_up, 1 },
	{ "semtimedop-timeout", SYS_semtimedop, ANEW, -1, EAGAIN, do_semtimedop_timeout,
	  set_up_sems, NULL, NULL, NULL, 1 },
	{ "mq_receive", SYS_mq_timedreceive, UNTIMED, 8, 0, do_mq_receive, set_up_mq, clear, NULL,
	  send_mq, 0 },
	{ "mq_timedreceive", SYS_mq_timedreceive, TIMED, -1, ETIMEDOUT, do_mq_timedreceive,
	  set_up_mq, clear, NULL, NULL, 0 },
	{ "mq_send-full", SYS_mq_timedsend, UNTIMED, 0, 0, do_mq_send, set_up_mq, NULL, send_mq,
	  take_mq, 0 },
	{ NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, 0 },
};
