// SPDX-License-Identifier: Apache-2.0
/* Waits with a timeout: their start, the remaining time, and which threads to spare. */
#include "base/clock.h"
#include "injector/search.h"
#include "injector/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define LIMIT_MS 30000
#define CLOCK_POOR_US 20000 /* how far off a reading of the clocks may be (injector/wait.c) */

static void in_epoll(void)
{
	struct epoll_event ev;

	epoll_wait(epoll_create1(0), &ev, 1, LIMIT_MS);
}

static void in_epoll_forever(void)
{
	struct epoll_event ev;

	epoll_wait(epoll_create1(0), &ev, 1, -1);
}

static void in_sigtimedwait(void)
{
	const struct timespec ts = { .tv_sec = LIMIT_MS / 1000 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigtimedwait(&set, NULL, &ts);
}

/* False in other calls, such as epoll_create1(2), where it may also sleep for a moment. */
static bool has_begun(const struct proc_syscall *sc)
{
	return !sc->running && (sc->nr == SYS_epoll_wait || sc->nr == SYS_rt_sigtimedwait);
}

struct span {
	uint64_t from_us, to_us;
};

/* Look at a child that makes `call`. *began is the span in which its wait began. */
static struct wait look(void (*call)(void), bool in_libc, struct span *began)
{
	struct proc_syscall sc = { .running = true };
	static struct injector inj;
	static struct proc p;
	struct tracer t = { .inj = &inj };
	char path[32];
	pid_t child;
	struct err err;

	t.shared = mmap(NULL, sizeof(*t.shared), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	began->from_us = now_us();
	child = fork();
	if (child == 0) {
		call();
		_exit(0);
	}
	p.pid = child;
	inj = (struct injector){ .p = &p };
	if (in_libc)
		inj.cs.libc = (struct range){ 1, UINT64_MAX };
	snprintf(path, sizeof(path), "/proc/%d/mem", child);
	t.mem = open(path, O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 2000 && !has_begun(&sc); i++) {
		usleep(5000);
		assert_int_equal(proc_thread_syscall(child, child, &sc, &err), 0);
	}
	began->to_us = now_us() + CLOCK_POOR_US;
	usleep(300000);
	/* On a busy machine reading the clocks may fail, which is reported: try again. */
	do
		wait_look(&t, child);
	while (t.wait.limit_us && !t.wait.began_us);
	assert_int_equal(atomic_load(&t.shared->phase), PHASE_SEARCH);
	munmap(t.shared, sizeof(*t.shared));
	close(t.mem);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return t.wait;
}

static void assert_began(const struct wait *w, struct span began)
{
	assert_int_equal(w->limit_us, LIMIT_MS * 1000);
	assert_in_range(w->began_us, began.from_us, began.to_us);
	assert_int_equal(w->deadline_us, w->began_us + w->limit_us);
}

static void test_look(void **state)
{
	struct span began;
	struct wait w;

	(void)state;
	w = look(in_epoll, true, &began);
	assert_int_equal(w.kind, WAIT_REGISTER);
	assert_false(w.noted);
	assert_began(&w, began);
	/* Outside the C library the register may be in use. */
	w = look(in_epoll, false, &began);
	assert_int_equal(w.kind, WAIT_MEMORY);
	assert_began(&w, began);
	w = look(in_sigtimedwait, true, &began);
	assert_int_equal(w.kind, WAIT_MEMORY);
	assert_began(&w, began);
	assert_int_equal(look(in_epoll_forever, true, &began).kind, WAIT_OTHER);
}

static void test_spared(void **state)
{
	const uint64_t s = 1000000, now = now_us();
	const struct {
		struct wait w;
		bool spared, later;
	} rows[] = {
		{ { .kind = WAIT_OTHER }, false, false },
		{ { .kind = WAIT_REGISTER, .deadline_us = now + s, .noted = true }, false, false },
		{ { .kind = WAIT_SOCKET }, false, false },
		{ { .kind = WAIT_SOCKET, .noted = true }, true, false },
		/* of unknown age; about to end; just begun; ends too late to wait for it */
		{ { .kind = WAIT_MEMORY }, false, false },
		{ { .kind = WAIT_MEMORY, .began_us = now - s, .deadline_us = now + s },
		  true,
		  true },
		{ { .kind = WAIT_MEMORY, .began_us = now, .deadline_us = now + s }, false, false },
		{ { .kind = WAIT_MEMORY, .began_us = now - s, .deadline_us = now + 60 * s },
		  false,
		  false },
		/* prolonged: not beyond its original end; beyond it; with an unknown end */
		{ { .kind = WAIT_MEMORY, .noted = true, .deadline_us = now + 60 * s },
		  false,
		  false },
		{ { .kind = WAIT_MEMORY, .noted = true, .deadline_us = now - 1 }, true, false },
		{ { .kind = WAIT_MEMORY, .noted = true }, true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct tracer t = { .wait = rows[i].w, .deadline_us = now + 10 * s };
		uint64_t until_us;

		if (wait_is_spared(&t, &until_us) != rows[i].spared ||
		    (until_us > now) != rows[i].later)
			fail_msg("row %zu", i);
	}
}

static struct arch_regs stopped(long nr, long result, int timeout)
{
	struct arch_regs regs = { 0 };

	regs.r.orig_rax = (unsigned long long)nr;
	regs.r.rax = (unsigned long long)result;
	regs.r.r10 = nr == SYS_poll ? 7 : (unsigned int)timeout;
	regs.r.rdx = nr == SYS_poll ? (unsigned int)timeout : 7;
	return regs;
}

static void test_shorten(void **state)
{
	struct tracer t = { .wait = { .kind = WAIT_REGISTER, .deadline_us = now_us() + 1500000 } };
	struct arch_regs regs = stopped(SYS_epoll_wait, -EINTR, 5000);

	(void)state;
	wait_shorten(&t, &regs);
	assert_in_range(regs.r.r10, 1400, 1500);
	assert_int_equal(regs.r.rdx, 7);
	regs = stopped(SYS_poll, -EINTR, 5000);
	arch_restart_syscall(&regs);
	wait_shorten(&t, &regs);
	assert_in_range(regs.r.rdx, 1400, 1500);
	assert_int_equal(regs.r.r10, 7);
	/* A timeout is never lengthened, and an infinite one stays infinite. */
	regs = stopped(SYS_epoll_pwait, -EINTR, 20);
	wait_shorten(&t, &regs);
	assert_int_equal(regs.r.r10, 20);
	regs = stopped(SYS_epoll_wait, -EINTR, -1);
	wait_shorten(&t, &regs);
	assert_int_equal((int)regs.r.r10, -1);
	regs = stopped(SYS_epoll_pwait2, -EINTR, 5000);
	wait_shorten(&t, &regs);
	assert_int_equal(regs.r.r10, 5000);
	/* The time has passed. */
	t.wait.deadline_us = now_us() - 5;
	regs = stopped(SYS_epoll_wait, -EINTR, 5000);
	wait_shorten(&t, &regs);
	assert_int_equal(regs.r.r10, 0);
	t.wait.kind = WAIT_MEMORY;
	regs = stopped(SYS_epoll_wait, -EINTR, 5000);
	wait_shorten(&t, &regs);
	assert_int_equal(regs.r.r10, 5000);
}

/* If the thread has not slept again, it is the same wait; otherwise the wait has just begun. */
static void test_settle(void **state)
{
	struct tracer t = {
		.wait = { .kind = WAIT_MEMORY, .switches = 7, .limit_us = 9, .deadline_us = 99 },
		.mem = -1
	};
	static struct injector inj;
	struct arch_regs regs = stopped(SYS_epoll_wait, -EINTR, 2000);
	uint64_t before = now_us();

	(void)state;
	t.inj = &inj;
	t.now.switches = 8;
	wait_settle(&t, &regs);
	assert_int_equal(t.wait.deadline_us, 99);
	assert_true(t.wait.certain);
	t.now.switches = 9;
	wait_settle(&t, &regs);
	assert_int_equal(t.wait.limit_us, 2000000);
	assert_in_range(t.wait.deadline_us, before + 2000000, now_us() + 2000000);
	regs = stopped(SYS_read, -512, 0);
	t.now.switches = 12;
	wait_settle(&t, &regs);
	assert_int_equal(t.wait.kind, WAIT_SOCKET);
	assert_false(t.wait.certain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_look),
		cmocka_unit_test(test_spared),
		cmocka_unit_test(test_shorten),
		cmocka_unit_test(test_settle),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
