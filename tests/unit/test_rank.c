// SPDX-License-Identifier: Apache-2.0
/* Which thread is borrowed first. Each child waits in one system call. */
#include "injector/search.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static int pipes[2];

static void in_read(void)
{
	char c;

	while (read(pipes[0], &c, 1) == 1)
		;
}

static void in_write(void)
{
	char page[4096] = { 0 };
	int full[2];

	if (pipe(full) == 0)
		while (write(full[1], page, sizeof(page)) > 0)
			;
}

static void in_poll(void)
{
	poll(NULL, 0, 100000);
}

static void in_nanosleep(void)
{
	const struct timespec ts = { .tv_sec = 100 };

	nanosleep(&ts, NULL);
}

static void in_epoll(void)
{
	struct epoll_event ev;

	epoll_wait(epoll_create1(0), &ev, 1, -1);
}

static void in_epoll_timed(void)
{
	struct epoll_event ev;

	epoll_wait(epoll_create1(0), &ev, 1, 100000);
}

static void in_recv_all(void)
{
	int sockets[2];
	char bytes[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0)
		recv(sockets[0], bytes, sizeof(bytes), MSG_WAITALL);
}

static void in_a_loop(void)
{
	for (;;)
		__asm__ volatile("");
}

/* Returns the rank of a child that calls `wait`, or RANK_NEVER if it is not even listed. */
static enum rank rank_with(enum caution caution, void (*wait)(void), bool blocks)
{
	struct candidate *c = NULL;
	enum rank rank = RANK_NEVER;
	struct proc_syscall sc = { .running = true };
	struct proc p;
	struct err err;
	size_t n = 0;
	pid_t child = fork();

	if (child == 0) {
		wait();
		_exit(0);
	}
	assert_int_equal(proc_open(&p, child, &err), 0);
	/* Wait until it blocks. */
	for (int i = 0; i < 2000 && blocks && (sc.running || sc.nr < 0); i++) {
		usleep(5000);
		assert_int_equal(proc_thread_syscall(child, child, &sc, &err), 0);
	}
	usleep(20000);
	assert_int_equal(rank_threads(&p, caution, &c, &n, &err), 0);
	if (n) {
		assert_int_equal(n, 1);
		assert_int_equal(c[0].tid, child);
		rank = c[0].rank;
	}
	free(c);
	proc_close(&p);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return rank;
}

static enum rank rank_of(void (*wait)(void), bool blocks)
{
	return rank_with(CAUTION_NONE, wait, blocks);
}

static void test_ranks(void **state)
{
	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(rank_of(in_read, true), RANK_BEST);
	assert_int_equal(rank_of(in_epoll, true), RANK_BEST);
	assert_int_equal(rank_of(in_poll, true), RANK_TIMED);
	assert_int_equal(rank_of(in_nanosleep, true), RANK_TIMED);
	assert_int_equal(rank_of(in_a_loop, false), RANK_RUNNING);
	assert_int_equal(rank_of(in_epoll_timed, true), RANK_RESTARTED);
}

/* If a lock may be held invisibly, only threads that cannot hold one are considered. */
static void test_caution(void **state)
{
	(void)state;
	assert_int_equal(rank_with(CAUTION_WAITING, in_epoll, true), RANK_BEST);
	assert_int_equal(rank_with(CAUTION_WAITING, in_read, true), RANK_NEVER);
	assert_int_equal(rank_with(CAUTION_WAITING, in_a_loop, false), RANK_NEVER);
	assert_int_equal(rank_with(CAUTION_OUTSIDE, in_epoll, true), RANK_BEST);
	assert_int_equal(rank_with(CAUTION_OUTSIDE, in_read, true), RANK_NEVER);
	assert_int_equal(rank_with(CAUTION_OUTSIDE, in_a_loop, false), RANK_RUNNING);
}

static void test_never(void **state)
{
	const uint64_t all[6] = { 0, 0, 0, MSG_WAITALL }, none[6] = { 0 };

	(void)state;
	assert_int_equal(rank_of(in_write, true), RANK_NEVER);
	assert_int_equal(rank_of(in_recv_all, true), RANK_NEVER);
	assert_true(rank_never(SYS_write, none));
	assert_true(rank_never(SYS_recvfrom, all));
	assert_false(rank_never(SYS_recvfrom, none));
	assert_false(rank_never(SYS_read, none));
}

static void test_waits(void **state)
{
	static const long waits[] = { SYS_epoll_wait, SYS_poll,	   SYS_nanosleep,
				      SYS_accept4,    SYS_recvmsg, SYS_rt_sigsuspend,
				      SYS_wait4,      SYS_semop,   SYS_restart_syscall };
	static const long others[] = { SYS_read,  SYS_openat,	   SYS_write,  SYS_mmap,  SYS_clone,
				       SYS_close, SYS_sched_yield, SYS_getpid, SYS_fcntl, -1 };
	const uint64_t none[6] = { 0 }, mutex[6] = { 0, FUTEX_WAIT_PRIVATE },
		       condition[6] = { 0, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME };

	(void)state;
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		assert_true(rank_waits(waits[i], none));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(rank_waits(others[i], none));
	assert_false(rank_waits(SYS_futex, mutex));
	assert_true(rank_waits(SYS_futex, condition));
}

static void test_one(void **state)
{
	struct candidate *c = NULL;
	struct proc self;
	struct err err;
	size_t n = 9;

	(void)state;
	assert_int_equal(proc_open(&self, getpid(), &err), 0);
	assert_int_equal(rank_one(&self, getpid(), CAUTION_NONE, &c, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_int_equal(c->tid, getpid());
	free(c);
	/* Process 1 is not one of our threads. */
	assert_int_equal(rank_one(&self, 1, CAUTION_NONE, &c, &n, &err), -1);
	assert_int_equal(err.code, ERR_NOPROC);
	proc_close(&self);
}

static void test_eintr(void **state)
{
	(void)state;
	assert_true(rank_eintr_restartable(SYS_epoll_wait));
	assert_true(rank_eintr_restartable(SYS_recvfrom));
	assert_false(rank_eintr_restartable(SYS_close));
	assert_false(rank_eintr_restartable(SYS_write));
	assert_false(rank_eintr_restartable(SYS_nanosleep));
	assert_false(rank_eintr_restartable(100000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranks), cmocka_unit_test(test_caution),
		cmocka_unit_test(test_never), cmocka_unit_test(test_one),
		cmocka_unit_test(test_eintr), cmocka_unit_test(test_waits),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
