// SPDX-License-Identifier: Apache-2.0
/*
 * Processes of the test that are asleep: until then a program may be on its way into memory. After
 * <cmocka.h>.
 */
#ifndef TESTS_UNIT_ASLEEP_H
#define TESTS_UNIT_ASLEEP_H

#include "process/proc.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In clock_nanosleep(2), as sleep(1) is. The limit is there against hanging alone. */
static inline void wait_until_asleep(pid_t pid)
{
	struct proc_syscall sc = { .running = true };
	struct err err;

	for (int tries = 0; tries < 30000 && (sc.running || sc.nr != SYS_clock_nanosleep);
	     tries++) {
		usleep(2000);
		assert_int_equal(proc_thread_syscall(pid, pid, &sc, &err), 0);
	}
	assert_int_equal(sc.nr, SYS_clock_nanosleep);
}

/* sleep(1) with jemalloc as distributions ship it, for the caller to end. */
static inline pid_t sleep_with_jemalloc(const char *conf)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("LD_PRELOAD", "libjemalloc.so.2", 1);
		setenv("LD_BIND_NOW", "1", 1); /* its own calls of mallctl go through stubs */
		setenv("MALLOC_CONF", conf, 1);
		execlp("sleep", "sleep", "100", NULL);
		_exit(1);
	}
	wait_until_asleep(pid);
	return pid;
}

#endif
