// SPDX-License-Identifier: Apache-2.0
/* Does a return probe kill a program with a seccomp filter? Testing that requires root. */
#include "bpf/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SYS_URETPROBE 335 /* x86-64; used by return probes since Linux 6.11 */

static int release(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	return major * 1000 + minor;
}

/* Make the call as a return probe does, visible to filters. */
static __attribute__((noinline, noclone)) void returns_by_call(void)
{
	syscall(SYS_URETPROBE);
}

static void test_trial(void **state)
{
	enum trial got = trial_run(trial_probed);

	(void)state;
	if (geteuid())
		assert_int_equal(got, TRIAL_UNKNOWN);
	else if (release() < 6011 || release() > 6013)
		assert_int_equal(got, TRIAL_LIVES);
	else
		assert_int_not_equal(got, TRIAL_UNKNOWN);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

static void test_killed(void **state)
{
	(void)state;
	assert_int_equal(trial_run(returns_by_call), geteuid() ? TRIAL_UNKNOWN : TRIAL_KILLED);
}

/* An address outside the program's file cannot be probed. */
static void test_nowhere(void **state)
{
	(void)state;
	assert_int_equal(trial_run((void (*)(void))(uintptr_t)state), TRIAL_UNKNOWN); // NOLINT
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trial),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_nowhere),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
