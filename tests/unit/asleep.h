// SPDX-License-Identifier: Apache-2.0
/*
 * Wait for a process of the test to be asleep: until then its program may be on its way into
 * memory. After <cmocka.h>.
 */
#ifndef TESTS_UNIT_ASLEEP_H
#define TESTS_UNIT_ASLEEP_H

#include "process/proc.h"

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

#endif
