// SPDX-License-Identifier: Apache-2.0
#include "process/proc.h"

#include "base/cleanup.h"
#include "process/procfs.h"
#include "process/rights.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NOBODY 65534

/* Starts a child that sleeps until it is killed, and waits until it is ready. */
static pid_t child_start(void (*before)(void))
{
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (before)
			before();
		if (write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void child_end(const pid_t *pid)
{
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
}

static void test_self(void **state)
{
	_cleanup_(proc_close) struct proc p = { 0 };
	struct err err;

	(void)state;
	prctl(PR_SET_NAME, "odd) S 1\n\\");
	assert_int_equal(proc_open(&p, getpid(), &err), 0);
	assert_string_equal(p.status.comm, "odd) S 1\n\\");
	assert_int_equal(p.status.tgid, getpid());
	assert_int_equal(p.status.state, 'R');
	assert_int_equal(p.status.uid, getuid());
	assert_int_equal(p.status.threads, 1);
	assert_true(p.status.rss_bytes > 4096);
	assert_true(p.start_time > 0);
	assert_true(proc_alive(&p));
	assert_int_equal(proc_refresh(&p, &err), 0);
}

static void test_no_such(void **state)
{
	static const pid_t pids[] = { 0, -1, 0x7fffffff };
	struct proc p = { .pid = 77 };
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(pids) / sizeof(pids[0]); i++) {
		assert_int_equal(proc_open(&p, pids[i], &err), -1);
		assert_int_equal(err.code, ERR_NOPROC);
		assert_int_equal(p.pid, 77);
	}
}

static void test_close_twice(void **state)
{
	struct proc zeroed = { 0 }, p;
	struct err err;

	(void)state;
	proc_close(&zeroed);
	assert_true(fcntl(0, F_GETFD) >= 0);
	assert_int_equal(proc_open(&p, getpid(), &err), 0);
	proc_close(&p);
	proc_close(&p);
}

static void test_ended(void **state)
{
	_cleanup_(proc_close) struct proc p = { 0 };
	pid_t pid = child_start(NULL);
	struct proc zombie;
	struct err err;

	(void)state;
	assert_int_equal(proc_open(&p, pid, &err), 0);
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	assert_false(proc_alive(&p));
	assert_int_equal(proc_open(&zombie, pid, &err), -1);
	assert_int_equal(err.code, ERR_NOPROC);
	waitpid(pid, NULL, 0);
	assert_false(proc_alive(&p));
	assert_int_equal(proc_refresh(&p, &err), -1);
	assert_int_equal(err.code, ERR_LOST);
}

static void *thread_main(void *arg)
{
	*(pid_t *)arg = (pid_t)syscall(SYS_gettid);
	pause();
	return NULL;
}

static void leave_leader(void)
{
	static pid_t ignored;
	pthread_t thread;

	pthread_create(&thread, NULL, thread_main, &ignored);
}

/* A process is dying from the time it is killed until it is gone, however long that takes. */
static void test_dying(void **state)
{
	pid_t pid = child_start(NULL);
	int status;

	(void)state;
	assert_false(proc_is_dying(getpid()));
	assert_false(proc_is_dying(pid));
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXIT), 0);
	assert_false(proc_is_dying(pid));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, __WALL), pid);
	assert_int_equal(status >> 8, SIGTRAP | PTRACE_EVENT_EXIT << 8);
	assert_true(proc_is_dying(pid));
	assert_int_equal(ptrace(PTRACE_DETACH, pid, 0, 0), 0);
	waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	assert_true(proc_is_dying(pid));
	waitpid(pid, NULL, 0);
	assert_true(proc_is_dying(pid));
}

static void test_threads(void **state)
{
	_cleanup_(child_end) pid_t pid = child_start(leave_leader);
	_cleanup_(cleanup_free) pid_t *tids = NULL;
	struct proc_syscall sc;
	struct proc_status st;
	struct proc p;
	struct err err;
	size_t n = 0;

	(void)state;
	assert_int_equal(proc_threads(pid, &tids, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_int_equal(tids[0], pid);
	assert_true(tids[1] > tids[0]);
	assert_int_equal(proc_thread_status(pid, tids[1], &st, &err), 0);
	assert_int_equal(st.tgid, pid);
	assert_int_equal(proc_open(&p, tids[1], &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	for (int tries = 0; tries < 1000; tries++) {
		assert_int_equal(proc_thread_syscall(pid, tids[1], &sc, &err), 0);
		if (!sc.running && sc.nr == SYS_pause)
			break;
		usleep(1000);
	}
	assert_int_equal(sc.nr, SYS_pause);
	assert_true(sc.pc && sc.sp);
	assert_int_equal(proc_thread_status(pid, 0x7fffffff, &st, &err), -1);
	assert_int_equal(err.code, ERR_LOST);
}

/* A process whose leader has exited is alive as long as another thread is. */
static void *write_and_pause(void *fd)
{
	if (write(*(int *)fd, "", 1) == 1)
		pause();
	return NULL;
}

static void test_zombie_leader(void **state)
{
	_cleanup_(proc_close) struct proc p = { 0 };
	static int ready[2];
	struct err err;
	pthread_t thread;
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		pthread_create(&thread, NULL, write_and_pause, &ready[1]);
		syscall(SYS_exit, 0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	do {
		proc_close(&p);
		assert_int_equal(proc_open(&p, pid, &err), 0);
	} while (p.status.state != 'Z');
	assert_true(proc_alive(&p));
	child_end(&pid);
}

static void test_read(void **state)
{
	size_t page = (size_t)getpagesize();
	char *area =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char buf[8192 + 16];
	struct err err;

	(void)state;
	memset(area, 'x', page);
	munmap(area + page, page);
	assert_int_equal(proc_read(getpid(), (uintptr_t)area, buf, page, &err), 0);
	assert_memory_equal(buf, area, page);
	assert_int_equal(proc_read(getpid(), (uintptr_t)area, buf, page + 1, &err), -1);
	assert_int_equal(err.code, ERR_FAILED);
	assert_int_equal(proc_read(getpid(), 0, buf, 8, &err), -1);
	assert_int_equal(proc_read(getpid(), UINT64_MAX - 3, buf, 8, &err), -1);
	munmap(area, page);
}

/* A string may end with its page. Without an end, it is cut, or fails at the end of the page. */
static void test_read_string(void **state)
{
	size_t page = (size_t)getpagesize();
	char *area =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t addr = (uintptr_t)area;
	char buf[64];
	struct err err;

	(void)state;
	munmap(area + page, page);
	memset(area, 'x', page);
	assert_int_equal(proc_read_string(getpid(), addr, buf, sizeof(buf), &err), 0);
	assert_int_equal(strlen(buf), sizeof(buf) - 1);
	strcpy(buf, "untouched");
	assert_int_equal(proc_read_string(getpid(), addr + page - 10, buf, sizeof(buf), &err), -1);
	assert_string_equal(buf, "untouched");
	area[page - 1] = '\0';
	assert_int_equal(proc_read_string(getpid(), addr + page - 10, buf, sizeof(buf), &err), 0);
	assert_string_equal(buf, "xxxxxxxxx");
	munmap(area, page);
}

static void test_environment(void **state)
{
	char buf[8], path[256];
	struct err err;

	(void)state;
	assert_int_equal(proc_getenv(getpid(), "NO_SUCH_VARIABLE_HERE", buf, sizeof(buf), &err),
			 -1);
	assert_int_equal(err.code, ERR_FAILED);
	assert_int_equal(proc_getenv(getpid(), "PAT", buf, sizeof(buf), &err), -1);
	assert_int_equal(proc_exe(getpid(), path, sizeof(path), &err), 0);
	assert_non_null(strstr(path, "test_proc"));
}

static void test_auxiliary_vector(void **state)
{
	uint64_t value = 0;

	(void)state;
	assert_true(proc_auxval(getpid(), AT_PAGESZ, &value));
	assert_int_equal(value, getauxval(AT_PAGESZ));
	assert_false(proc_auxval(getpid(), 0x7fffffff, &value));
	assert_false(proc_auxval(INT_MAX, AT_PAGESZ, &value));
}

/* Returns 1 for a link, 0 if there is none, -1 if that is unknown. */
static int look_at_link(pid_t pid, const char *dir, const char *name, char *buf, size_t size)
{
	bool is_link = false;
	struct err err;

	if (procfs_readlink_in_root(pid, dir, name, buf, size, &is_link, &err))
		return -1;
	return is_link;
}

static void test_link_in_root(void **state)
{
	char dir[] = "/tmp/jeprof-ctl-link.XXXXXX", link[64], buf[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(link, sizeof(link), "%s/malloc.conf", dir);
	assert_int_equal(symlink("prof:true,narenas:4", link), 0);
	assert_int_equal(look_at_link(getpid(), dir, "malloc.conf", buf, sizeof(buf)), 1);
	assert_string_equal(buf, "prof:true,narenas:4");
	assert_int_equal(look_at_link(getpid(), dir, "malloc.conf", buf, 5), 1);
	assert_string_equal(buf, "prof");
	assert_int_equal(look_at_link(getpid(), dir, "other", buf, sizeof(buf)), 0);
	assert_int_equal(look_at_link(getpid(), "/proc", "uptime", buf, sizeof(buf)), 0);
	assert_int_equal(look_at_link(getpid(), link, "malloc.conf", buf, sizeof(buf)), 0);
	assert_int_equal(look_at_link(INT_MAX, dir, "malloc.conf", buf, sizeof(buf)), -1);
	unlink(link);
	rmdir(dir);
}

static void test_rights(void **state)
{
	struct proc p = { .pid = getpid(), .mm_pid = getpid() };
	struct proc_rights rights;

	(void)state;
	proc_rights(&p, &rights);
	assert_int_equal(rights.same_user_ns, 1);
	assert_in_range(rights.yama_scope + 1, 0, 4);
	p.mm_pid = INT_MAX;
	proc_rights(&p, &rights);
	assert_int_equal(rights.same_user_ns, -1);
}

static void be_traced(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static void test_already_traced(void **state)
{
	_cleanup_(child_end) pid_t pid = child_start(be_traced);
	_cleanup_(proc_close) struct proc p = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(proc_open(&p, pid, &err), 0);
	assert_int_equal(proc_may_trace(&p, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_int_equal(err.ids[0], ERROR_PROCESS_TRACED);
	assert_int_equal(err.held.other, getpid());
	assert_int_equal(err.fixes[0], FIX_LET_TRACER_DETACH);
}

static void test_may_trace(void **state)
{
	_cleanup_(child_end) pid_t pid = child_start(NULL);
	_cleanup_(proc_close) struct proc p = { 0 }, self = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(proc_open(&p, pid, &err), 0);
	assert_int_equal(proc_may_trace(&p, &err), 0);
	assert_int_equal(proc_open(&self, getpid(), &err), 0);
	assert_int_equal(proc_may_trace(&self, &err), -1);
}

/* Runs in a child without privileges; returns 0 if the answer is ERR_PERM with cause and fix. */
static int refused_as_nobody(pid_t pid)
{
	struct proc p;
	struct err err;

	if (setgid(NOBODY) || setuid(NOBODY) || proc_open(&p, pid, &err))
		return 1;
	if (!proc_may_trace(&p, &err) || err.code != ERR_PERM || !err.fixes[0])
		return 2;
	return err.ids[0] == ERROR_OTHER_USER && err.held.uid == 0 ? 0 : 3;
}

static void test_not_allowed(void **state)
{
	_cleanup_(child_end) pid_t pid = child_start(NULL);
	pid_t asker;
	int status;

	(void)state;
	if (getuid())
		skip();
	asker = fork();
	if (!asker)
		_exit(refused_as_nobody(pid));
	waitpid(asker, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The groups precede most of the fields that matter, and there can be 65536 of them. */
static void test_status_of_many_groups(void **state)
{
	_cleanup_(cleanup_close) int fd = memfd_create("status", MFD_CLOEXEC);
	struct proc_status st;
	struct err err;

	(void)state;
	for (size_t groups = 0; groups <= 65536; groups += 8192) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		dprintf(fd, "Name:\tx\nState:\tS (sleeping)\nTgid:\t7\nGroups:\t");
		for (size_t i = 0; i < groups; i++)
			dprintf(fd, "%zu ", UINT32_MAX - i);
		dprintf(fd, "\nSeccomp:\t2\n");
		assert_int_equal(proc_thread_status_read(fd, &st, &err), 0);
		assert_int_equal(st.tgid, 7);
		assert_int_equal(st.seccomp, 2);
	}
}

/* Another program has another stack; the same program at work does not. */
static void test_replaced(void **state)
{
	struct err err = ERR_INIT;
	char buf[64] = "";
	struct proc p;
	int pipes[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (read(pipes[0], buf, 1) == 1) {
			dup2(pipes[0], STDIN_FILENO);
			execl("/bin/cat", "cat", NULL);
		}
		_exit(1);
	}
	assert_int_equal(proc_open(&p, pid, &err), 0);
	assert_false(proc_replaced(&p));
	assert_int_equal(write(pipes[1], "x", 1), 1);
	for (int i = 0; i < 1000 && !proc_replaced(&p); i++)
		usleep(10000);
	assert_true(proc_replaced(&p));
	assert_true(proc_alive(&p));
	assert_int_equal(proc_refresh(&p, &err), 0);
	assert_false(proc_replaced(&p));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_false(proc_replaced(&p));
	proc_close(&p);
	close(pipes[0]);
	close(pipes[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status_of_many_groups),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_no_such),
		cmocka_unit_test(test_close_twice),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_dying),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_zombie_leader),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_read_string),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_already_traced),
		cmocka_unit_test(test_may_trace),
		cmocka_unit_test(test_not_allowed),
		cmocka_unit_test(test_auxiliary_vector),
		cmocka_unit_test(test_link_in_root),
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_replaced),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
