// SPDX-License-Identifier: Apache-2.0
/*
 * The remaining time of a wait after one or more stops. The clocks, the kernel's data about the
 * thread, and its stack are simulated, and replaced by the linker (--wrap, see the Makefile).
 */
#include "base/clock.h"
#include "injector/tracee.h"
#include "injector/tracer.h"
#include "process/procfs.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define TID 4242
#define PC 0x7f0000001000
#define STACK 0x7ffe00010000 /* the thread's stack pointer */
#define STACK_ROOM 4096
#define TIMESPEC (STACK - 2048)
#define CPU 0
#define CPU_BEHIND_NS 987654321 /* each CPU's clock has its own start */
#define MS 1000ul
#define LOOK_US 300   /* from wait_look() until the thread stops */
#define BORROW_US 400 /* how long it is stopped */
#define RUN_US 50     /* from its release until it sleeps again */
#define ROUNDED_US MS /* timeouts are in whole milliseconds */

/* The simulated machine, and the waiting thread. */
static struct {
	uint64_t now_us;
	uint64_t reading_us; /* the duration of a clock reading */
	bool says_sched;
	uint64_t slept_us, switches;
	struct proc_syscall sc;
	unsigned char stack[STACK_ROOM]; /* below the stack pointer */
} world;

static uint64_t cpu_ns(uint64_t us)
{
	return us * 1000 - CPU_BEHIND_NS;
}

uint64_t __wrap_now_us(void);
int __wrap_procfs_read_into(pid_t pid, pid_t tid, const char *name, char *buf, size_t size,
			    struct err *err);
int __wrap_proc_thread_status(pid_t pid, pid_t tid, struct proc_status *st, struct err *err);
int __wrap_proc_thread_status_read(int fd, struct proc_status *st, struct err *err);
int __wrap_proc_thread_syscall(pid_t pid, pid_t tid, struct proc_syscall *sc, struct err *err);
int __wrap_mem_read(const struct tracer *t, uint64_t addr, void *buf, size_t len, struct err *err);
int __wrap_mem_write(const struct tracer *t, uint64_t addr, const void *buf, size_t len,
		     struct err *err);

uint64_t __wrap_now_us(void)
{
	return world.now_us;
}

/* A thread that reads its own times is running. */
int __wrap_procfs_read_into(pid_t pid, pid_t tid, const char *name, char *buf, size_t size,
			    struct err *err)
{
	uint64_t ns = cpu_ns(tid == TID ? world.slept_us : world.now_us);

	(void)pid;
	if (strcmp(name, "stat") == 0) {
		int n = snprintf(buf, size, "%d (a) b) S", tid);

		for (int field = 4; field < 39; field++)
			n += snprintf(buf + n, size - (size_t)n, " 0");
		snprintf(buf + n, size - (size_t)n, " %d 0", CPU);
		return 0;
	}
	assert_string_equal(name, "sched");
	if (!world.says_sched)
		return err_raise(err, ERROR_PROC_UNREADABLE, .name = name);
	snprintf(buf, size,
		 "thread (%d, #threads: 1)\n"
		 "-------------------------------------------------------------------\n"
		 "se.exec_start                                : %14llu.%06llu\n"
		 "se.vruntime                                  :       1234.567890\n",
		 tid, (unsigned long long)(ns / 1000000), (unsigned long long)(ns % 1000000));
	world.now_us += world.reading_us;
	return 0;
}

int __wrap_proc_thread_status(pid_t pid, pid_t tid, struct proc_status *st, struct err *err)
{
	(void)pid;
	(void)tid;
	(void)err;
	*st = (struct proc_status){ .state = 'S', .switches = world.switches };
	return 0;
}

int __wrap_proc_thread_status_read(int fd, struct proc_status *st, struct err *err)
{
	return __wrap_proc_thread_status(fd, TID, st, err);
}

int __wrap_proc_thread_syscall(pid_t pid, pid_t tid, struct proc_syscall *sc, struct err *err)
{
	(void)pid;
	(void)tid;
	(void)err;
	*sc = world.sc;
	return 0;
}

static unsigned char *on_stack(uint64_t addr, size_t len)
{
	assert_in_range(addr, STACK - STACK_ROOM, STACK - len);
	return world.stack + (addr - (STACK - STACK_ROOM));
}

int __wrap_mem_read(const struct tracer *t, uint64_t addr, void *buf, size_t len, struct err *err)
{
	(void)t;
	(void)err;
	memcpy(buf, on_stack(addr, len), len);
	return 0;
}

int __wrap_mem_write(const struct tracer *t, uint64_t addr, const void *buf, size_t len,
		     struct err *err)
{
	(void)t;
	(void)err;
	memcpy(on_stack(addr, len), buf, len);
	return 0;
}

/* --- events --- */

static struct tracer t;
static struct injector inj;
static struct proc target = { .pid = TID };

/* The thread begins to wait now. */
static void sleep_in(long nr, uint64_t limit)
{
	world.sc = (struct proc_syscall){ .nr = nr, .sp = STACK, .pc = PC };
	if (nr == SYS_epoll_wait) {
		world.sc.args[3] = limit / MS;
	} else {
		const struct timespec ts = { .tv_sec = (time_t)(limit / 1000000),
					     .tv_nsec = (long)(limit % 1000000) * 1000 };

		world.sc.args[2] = TIMESPEC;
		memcpy(on_stack(TIMESPEC, sizeof(ts)), &ts, sizeof(ts));
	}
	world.slept_us = world.now_us;
	world.switches++;
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.now_us = 5000000000;
	world.says_sched = true;
	inj = (struct injector){ .p = &target, .cs.libc = { 1, UINT64_MAX } };
	t = (struct tracer){ .inj = &inj, .deadline_us = world.now_us + 10000 * MS };
	t.shared = mmap(NULL, sizeof(*t.shared), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return t.shared == MAP_FAILED;
}

static int tear_down(void **state)
{
	(void)state;
	return munmap(t.shared, sizeof(*t.shared));
}

/* A tracer looks at the thread, stops it, borrows it and releases it; the thread waits again. */
static void stop(void)
{
	struct borrow b = { .tid = TID };
	struct arch_regs *regs = &b.regs;

	t.shared->report = (struct injector_report){ 0 };
	wait_look(&t, TID);
	world.now_us += LOOK_US;
	t.now.switches = ++world.switches;
	regs->r.orig_rax = (unsigned long long)world.sc.nr;
	regs->r.rax = (unsigned long long)-EINTR;
	regs->r.rdx = world.sc.args[2];
	regs->r.r10 = world.sc.args[3];
	regs->r.rsp = STACK;
	regs->r.rip = PC;
	wait_settle(&t, regs);
	world.now_us += BORROW_US;
	wait_note(&t, &b);
	arch_restart_syscall(regs);
	wait_shorten(&t, regs);
	world.sc.args[3] = regs->r.r10;
	world.now_us += RUN_US;
	world.slept_us = world.now_us;
	world.switches++;
}

/* The time at which epoll_wait(2) will end if the thread is not stopped again. */
static uint64_t end_us(void)
{
	return world.slept_us + world.sc.args[3] * MS;
}

static bool is_spared(void)
{
	uint64_t until_us;

	wait_look(&t, TID);
	return wait_is_spared(&t, &until_us);
}

/* --- tests --- */

/* However often it is stopped, the wait ends on time: delays do not add up. */
static void test_register(void **state)
{
	const uint64_t due_us = world.now_us + 1000 * MS;

	(void)state;
	sleep_in(SYS_epoll_wait, 1000 * MS);
	for (unsigned int n = 1; n <= 50; n++) {
		world.now_us += 17 * MS + 331;
		stop();
		assert_int_equal(t.wait.kind, WAIT_REGISTER);
		assert_int_equal(t.wait.noted, n > 1);
		assert_int_equal(t.wait.deadline_us, due_us);
		assert_int_equal(world.sc.args[3],
				 (due_us - (world.slept_us - RUN_US) + MS - 1) / MS);
		assert_in_range(end_us(), due_us, due_us + RUN_US + ROUNDED_US);
		assert_false(t.shared->report.prolonged);
	}
	/* The time passes while the thread is stopped. */
	world.now_us = due_us - LOOK_US;
	stop();
	assert_int_equal(world.sc.args[3], 0);
}

/* Killed tracers leave no notes: then each stop adds a rounding error, but no more. */
static void test_without_notes(void **state)
{
	const uint64_t due_us = world.now_us + 1000 * MS;

	(void)state;
	sleep_in(SYS_epoll_wait, 1000 * MS);
	for (unsigned int n = 1; n <= 10; n++) {
		world.now_us += 50 * MS;
		stop();
		memset(world.stack, 0, sizeof(world.stack));
		assert_in_range(end_us(), due_us, due_us + n * (RUN_US + ROUNDED_US));
	}
}

/* A note does not apply to a wait that began after it was written. */
static void test_next_wait(void **state)
{
	(void)state;
	sleep_in(SYS_epoll_wait, 1000 * MS);
	world.now_us += 900 * MS;
	stop();
	/* The previous wait ended before the thread slept: it slept only once since the note. */
	world.switches--;
	sleep_in(SYS_epoll_wait, 3000 * MS);
	wait_look(&t, TID);
	assert_true(t.wait.noted);
	assert_int_equal(t.wait.deadline_us, world.slept_us + 3000 * MS);
	/* It has slept twice since the note. */
	stop();
	sleep_in(SYS_epoll_wait, 2000 * MS);
	wait_look(&t, TID);
	assert_false(t.wait.noted);
	assert_int_equal(t.wait.deadline_us, world.slept_us + 2000 * MS);
}

/* The thread went to sleep again between the look and the stop: the wait has just begun. */
static void test_begun_since(void **state)
{
	struct arch_regs regs = { .r = { .orig_rax = SYS_epoll_wait,
					 .rax = (unsigned long long)-EINTR,
					 .r10 = 2000,
					 .rip = PC } };

	(void)state;
	sleep_in(SYS_epoll_wait, 1000 * MS);
	world.now_us += 900 * MS;
	wait_look(&t, TID);
	t.now.switches = world.switches + 2;
	wait_settle(&t, &regs);
	assert_int_equal(t.wait.deadline_us, world.now_us + 2000 * MS);
}

/*
 * The start of the wait is unknown: it restarts with its full timeout, which is reported, and is
 * not stopped again.
 */
static void test_no_clock(void **state)
{
	(void)state;
	sleep_in(SYS_epoll_wait, 1000 * MS);
	world.says_sched = false;
	world.now_us += 400 * MS;
	assert_false(is_spared());
	stop();
	assert_int_equal(world.sc.args[3], 1000);
	assert_true(t.shared->report.prolonged);
	world.now_us += 400 * MS;
	assert_true(is_spared());
	/* The next wait may be stopped. */
	world.switches++;
	sleep_in(SYS_epoll_wait, 1000 * MS);
	assert_false(is_spared());
}

/* A clock that takes too long to read counts as missing. */
static void test_poor_clock(void **state)
{
	(void)state;
	sleep_in(SYS_epoll_wait, 1000 * MS);
	world.reading_us = 30 * MS;
	world.now_us += 400 * MS;
	stop();
	assert_int_equal(t.wait.began_us, 0);
	assert_int_equal(world.sc.args[3], 1000);
	assert_true(t.shared->report.prolonged);
}

/*
 * The clocks can be read at the first stop, but not at the second one: the wait restarts with the
 * timeout in its register. It may be stopped until the end that the note records, but not later.
 */
static void test_clock_fails_later(void **state)
{
	const uint64_t due_us = world.now_us + 1000 * MS;
	uint64_t left_ms;

	(void)state;
	t.deadline_us = due_us - 100 * MS; /* the search ends before the wait does */
	sleep_in(SYS_epoll_wait, 1000 * MS);
	world.now_us += 300 * MS;
	stop();
	left_ms = world.sc.args[3];
	assert_int_equal(left_ms, 700);
	world.says_sched = false;
	world.now_us += 300 * MS;
	assert_false(is_spared());
	stop();
	assert_int_equal(world.sc.args[3], left_ms);
	assert_int_equal(t.wait.deadline_us, due_us);
	assert_true(t.shared->report.prolonged);
	world.now_us = due_us;
	assert_true(is_spared());
	/* The clocks can be read again: the restarted wait gets its remaining time. */
	world.says_sched = true;
	assert_false(is_spared());
	stop();
	assert_in_range(end_us(), due_us + 300 * MS, due_us + 302 * MS);
	assert_false(t.shared->report.prolonged);
}

/* A timeout in memory restarts. After its original end the wait is not stopped again. */
static void test_memory(void **state)
{
	const uint64_t began_us = world.now_us, due_us = began_us + 1000 * MS;

	(void)state;
	t.deadline_us = began_us + 500 * MS; /* the search ends before the wait does */
	sleep_in(SYS_rt_sigtimedwait, 1000 * MS);
	world.now_us += 400 * MS;
	stop();
	assert_int_equal(t.wait.kind, WAIT_MEMORY);
	assert_int_equal(t.wait.deadline_us, due_us);
	assert_true(t.shared->report.prolonged);
	assert_int_equal(t.shared->report.late_us, 400 * MS + LOOK_US + BORROW_US);
	world.now_us = due_us - 1;
	assert_false(is_spared());
	assert_int_equal(t.wait.deadline_us, due_us);
	world.now_us = due_us;
	assert_true(is_spared());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(test_register),	      TEST(test_without_notes), TEST(test_next_wait),
		TEST(test_begun_since),	      TEST(test_no_clock),	TEST(test_poor_clock),
		TEST(test_clock_fails_later), TEST(test_memory),
#undef TEST
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
