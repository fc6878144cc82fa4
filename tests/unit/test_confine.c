// SPDX-License-Identifier: Apache-2.0
/* Actions of a compromised tracer against other processes, each without the filter and with it. */
#include "injector/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static int sockets[2];
static int word = 1;

/* Actions on the process `pid`. They return -1 and set errno on failure. */

static long trace_as_before(pid_t pid)
{
	return ptrace(PTRACE_ATTACH, pid, 0, 0);
}

static long be_traced(pid_t pid)
{
	(void)pid;
	return ptrace(PTRACE_TRACEME, 0, 0, 0);
}

/* Stop the process, which the filter allows. */
static long stop(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, 0, 0) || ptrace(PTRACE_INTERRUPT, pid, 0, 0))
		return -1;
	return waitpid(pid, &status, __WALL) == pid ? 0 : -1;
}

static long step(pid_t pid)
{
	return stop(pid) ? -1 : ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
}

static long put_registers(pid_t pid)
{
	char area[4096];

	if (stop(pid))
		return -1;
	return ptrace(PTRACE_GETREGS, pid, 0, area) ? -1 : ptrace(PTRACE_SETREGS, pid, 0, area);
}

static long end_with_us(pid_t pid)
{
	return stop(pid) ? -1 : ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL);
}

static long limit(pid_t pid)
{
	const struct rlimit none = { 0, 0 };

	return prlimit(pid, RLIMIT_NOFILE, &none, NULL);
}

static long own(pid_t pid)
{
	return fcntl(sockets[0], F_SETOWN, pid);
}

static long signal_number(pid_t pid)
{
	(void)pid;
	return fcntl(sockets[0], F_SETSIG, SIGKILL);
}

static long async(pid_t pid)
{
	(void)pid;
	return fcntl(sockets[0], F_SETFL, O_ASYNC);
}

static long async_by_ioctl(pid_t pid)
{
	int on = 1;

	(void)pid;
	return ioctl(sockets[0], FIOASYNC, &on);
}

static long end(pid_t pid)
{
	return kill(pid, SIGKILL);
}

static long put(pid_t pid)
{
	struct iovec io = { &word, sizeof(word) };

	return process_vm_writev(pid, &io, 1, &io, 1, 0) == sizeof(word) ? 0 : -1;
}

static long open_to_write(pid_t pid)
{
	(void)pid;
	return open("/dev/null", O_WRONLY) < 0 ? -1 : 0;
}

static long connect_out(pid_t pid)
{
	(void)pid;
	return socket(AF_INET, SOCK_STREAM, 0) < 0 ? -1 : 0;
}

static long be_parent(pid_t pid)
{
	pid_t child = fork();

	(void)pid;
	if (child == 0)
		_exit(0);
	return child < 0 ? -1 : 0;
}

/* The victim is killed when its parent exits. */
static pid_t make_victim(void)
{
	char ready = 0;
	int pipe_fds[2];
	pid_t pid;

	if (pipe(pipe_fds))
		return -1;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(pipe_fds[1], &ready, 1) == 1)
			pause();
		_exit(0);
	}
	return read(pipe_fds[0], &ready, 1) == 1 ? pid : -1;
}

/* A child performs the action, and exits with errno. */
static int done(long (*deed)(pid_t pid), bool confined)
{
	struct err err = ERR_INIT;
	pid_t pid = fork(), victim;
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		victim = make_victim();
		if (victim < 0 || (confined && confine_syscalls(&err) < 0))
			_exit(255);
		_exit(deed(victim) ? errno : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_deeds(void **state)
{
	static long (*const deeds[])(pid_t pid) = {
		trace_as_before, be_traced, step,	    put_registers, limit, own,
		signal_number,	 async,	    async_by_ioctl, end,	   put,	  open_to_write,
		connect_out,	 be_parent,
	};

	(void)state;
	for (size_t i = 0; i < LEN(deeds); i++) {
		assert_int_equal(done(deeds[i], false), 0);
		assert_int_equal(done(deeds[i], true), EPERM);
	}
}

/* The tracer's own work is allowed. An option that would kill the target with the tracer is not. */
static void test_stop(void **state)
{
	(void)state;
	assert_int_equal(done(stop, true), 0);
	assert_int_equal(done(end_with_us, false), 0);
	assert_int_equal(done(end_with_us, true), EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deeds),
		cmocka_unit_test(test_stop),
	};

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
