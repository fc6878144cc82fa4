// SPDX-License-Identifier: Apache-2.0
/* With a distribution's library: the main thread of a program uses its thread-specific data. */
#include "jemalloc/jemalloc.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/asleep.h"
#include "tests/unit/look.h"

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
	_cleanup_(look_end) struct look look;
	_cleanup_(cleanup_free) struct jemalloc *found = NULL;
	_cleanup_(proc_close) struct proc p = { 0 };
	struct err err = ERR_INIT;
	size_t n = 0;

	assert_int_equal(proc_open(&p, pid, &err), 0);
	look_at(&look, pid);
	if (jemalloc_find(&p, &look.images, &found, &n, &err))
		return false;
	jemalloc_find_tsd(tsd, found, pid);
	return true;
}

static void test_main_thread(void **state)
{
	pid_t pid = sleep_with_jemalloc("");
	struct jemalloc_tsd tsd;
	uint8_t now = UINT8_MAX;
	struct err err;

	(void)state;
	if (!find(&tsd, pid))
		skip();
	assert_true(tsd.is_known);
	assert_false(jemalloc_tsd_in_use(&tsd, tsd.fresh));
	assert_int_equal(proc_read(pid, thread_pointer(pid) + (uint64_t)tsd.state, &now,
				   sizeof(now), &err),
			 0);
	assert_true(jemalloc_tsd_in_use(&tsd, now));
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
