// SPDX-License-Identifier: Apache-2.0
/*
 * Which threads must be waited for before the table of functions called at thread exit is trusted.
 */
#include "ops/sample/end_guard.h"

#include "base/clock.h"
#include "process/procfs.h"
#include "process/thread.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TID 7
#define MS UINT64_C(1000000) /* nanoseconds */

/* The state of the thread, as reported by the kernel. */
static struct {
	bool ended, unreadable; /* its status is gone, or cannot be read */
	bool no_schedstat, no_syscall;
	bool in_call;		  /* in a system call, otherwise on a CPU */
	uint64_t ran_ns, more_ns; /* CPU time so far, and added at each look */
	uint64_t looks;
} thread;
static uint64_t clock_ms;

uint64_t __wrap_now_ms(void);
uint64_t __wrap_now_ms(void)
{
	return clock_ms += 1000;
}

int __wrap_proc_threads(pid_t pid, pid_t **tids, size_t *n, struct err *err);
int __wrap_proc_threads(pid_t pid, pid_t **tids, size_t *n, struct err *err)
{
	(void)pid, (void)err;
	*tids = malloc(sizeof(**tids));
	assert_non_null(*tids);
	**tids = TID;
	*n = 1;
	return 0;
}

int __wrap_procfs_read_into(pid_t pid, pid_t tid, const char *name, char *buf, size_t size,
			    struct err *err);
int __wrap_procfs_read_into(pid_t pid, pid_t tid, const char *name, char *buf, size_t size,
			    struct err *err)
{
	assert_int_equal(tid, TID);
	assert_string_equal(name, "schedstat");
	if (thread.no_schedstat)
		return err_raise(err, ERROR_PROCESS_ENDED, .pid = pid); /* ENOENT */
	snprintf(buf, size, "%" PRIu64 " 0 1\n", thread.ran_ns + thread.looks++ * thread.more_ns);
	return 0;
}

int __wrap_proc_thread_status(pid_t pid, pid_t tid, struct proc_status *st, struct err *err);
int __wrap_proc_thread_status(pid_t pid, pid_t tid, struct proc_status *st, struct err *err)
{
	assert_int_equal(tid, TID);
	*st = (struct proc_status){ .state = 'R' };
	if (thread.ended)
		return err_raise(err, ERROR_PROCESS_ENDED, .pid = pid);
	return thread.unreadable ? err_raise(err, ERROR_PROC_UNREADABLE, .pid = pid) : 0;
}

int __wrap_proc_thread_syscall(pid_t pid, pid_t tid, struct proc_syscall *sc, struct err *err);
int __wrap_proc_thread_syscall(pid_t pid, pid_t tid, struct proc_syscall *sc, struct err *err)
{
	assert_int_equal(tid, TID);
	*sc = (struct proc_syscall){ .running = !thread.in_call, .nr = 1 };
	return thread.no_syscall ? err_raise(err, ERROR_PROC_UNREADABLE, .pid = pid) : 0;
}

/* The result of end_guard_wait() for this thread. */
static enum error waits(void)
{
	const struct ops_options options = { .stop_fd = -1 };
	const struct session s = { .options = &options, .proc = { .pid = 1 } };
	struct err err = ERR_INIT;

	thread.looks = 0;
	return end_guard_wait(&s, &err) ? (enum error)err.ids[0] : ERROR_NONE;
}

static void test_seen(void **state)
{
	(void)state;
	memset(&thread, 0, sizeof(thread));
	thread.in_call = true;
	assert_int_equal(waits(), ERROR_NONE);
	thread.in_call = false;
	thread.more_ns = 25 * MS;
	assert_int_equal(waits(), ERROR_NONE);
	thread.more_ns = 0;
	thread.ended = true;
	assert_int_equal(waits(), ERROR_NONE);
}

static void test_not_seen(void **state)
{
	(void)state;
	memset(&thread, 0, sizeof(thread));
	thread.ran_ns = 1000 * MS; /* from before: only the increase counts */
	assert_int_equal(waits(), ERROR_THREAD_NOT_SEEN);
	thread.more_ns = 1;
	assert_int_equal(waits(), ERROR_THREAD_NOT_SEEN);
}

/* A kernel without schedstat, or no free descriptor, does not mean that the thread has ended. */
static void test_unreadable(void **state)
{
	(void)state;
	memset(&thread, 0, sizeof(thread));
	thread.no_schedstat = true;
	assert_int_equal(waits(), ERROR_THREAD_NOT_SEEN);
	thread.in_call = true;
	assert_int_equal(waits(), ERROR_NONE);
	thread.no_syscall = true;
	assert_int_equal(waits(), ERROR_THREAD_NOT_SEEN);
	thread.unreadable = true;
	assert_int_equal(waits(), ERROR_THREAD_NOT_SEEN);
	thread.ended = true;
	assert_int_equal(waits(), ERROR_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seen),
		cmocka_unit_test(test_not_seen),
		cmocka_unit_test(test_unreadable),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
