// SPDX-License-Identifier: Apache-2.0
/* On a library as distributions ship it: the main thread of a program has its data in use. */
#include "jemalloc/jemalloc.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/asleep.h"

static pid_t sleep_start(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("LD_PRELOAD", "libjemalloc.so.2", 1);
		execlp("sleep", "sleep", "100", NULL);
		_exit(1);
	}
	wait_until_asleep(pid);
	return pid;
}

static uint64_t thread_pointer(pid_t pid)
{
	struct user_regs_struct regs;

	assert_int_equal(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
	assert_int_equal(waitpid(pid, NULL, __WALL), pid);
	assert_int_equal(ptrace(PTRACE_GETREGS, pid, 0, &regs), 0);
	return regs.fs_base;
}

static bool find(struct jemalloc_tsd *tsd, pid_t pid)
{
	_cleanup_(images_fini) struct images images = { 0 };
	_cleanup_(cleanup_free) struct jemalloc *found = NULL;
	_cleanup_(proc_close) struct proc p = { 0 };
	_cleanup_(maps_fini) struct maps maps = { 0 };
	struct err err = ERR_INIT;
	size_t n = 0;

	if (proc_open(&p, pid, &err) || maps_read(&maps, pid, &err) ||
	    images_read(&images, pid, &maps, &err) || jemalloc_find(&p, &images, &found, &n, &err))
		return false;
	jemalloc_find_tsd(tsd, found, pid);
	return true;
}

static void test_main_thread(void **state)
{
	pid_t pid = sleep_start();
	struct jemalloc_tsd tsd;
	uint8_t now = UINT8_MAX;
	struct err err;

	(void)state;
	if (!find(&tsd, pid))
		skip();
	assert_true(tsd.is_known);
	assert_true(tsd.fresh > JEMALLOC_TSD_IN_USE_MAX);
	assert_int_equal(proc_read(pid, thread_pointer(pid) + (uint64_t)tsd.state, &now,
				   sizeof(now), &err),
			 0);
	assert_true(now <= JEMALLOC_TSD_IN_USE_MAX);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_main_thread),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
