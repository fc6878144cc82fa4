// SPDX-License-Identifier: Apache-2.0
/*
 * Wait for a test's child process to sleep: before that, its program may still be loading. Include
 * after <cmocka.h>.
 */
#ifndef TESTS_UNIT_ASLEEP_H
#define TESTS_UNIT_ASLEEP_H

#include "process/proc.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Wait for clock_nanosleep(2), as called by sleep(1). The limit only guards against a hang. */
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

/* sleep(1) with jemalloc as shipped by distributions. The caller kills it. */
static inline pid_t sleep_with_jemalloc(const char *conf)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("LD_PRELOAD", "libjemalloc.so.2", 1);
		setenv("LD_BIND_NOW", "1", 1); /* jemalloc calls mallctl through PLT stubs */
		setenv("MALLOC_CONF", conf, 1);
		execlp("sleep", "sleep", "100", NULL);
		_exit(1);
	}
	wait_until_asleep(pid);
	return pid;
}

#endif
