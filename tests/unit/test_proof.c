// SPDX-License-Identifier: Apache-2.0
#include "injector/check.h"
#include "injector/proof.h"
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct proc_status status_of(const char *ids, const char *caps)
{
	struct proc_status st;
	char text[256];

	snprintf(text, sizeof(text), "State:\tS (sleeping)\nTgid:\t7\n%s\nCapPrm:\t%s\n", ids,
		 caps);
	assert_true(proc_status_parse(&st, text));
	return st;
}

static const char user[] = "Uid:\t1000\t1000\t1000\t1000\nGid:\t100\t100\t100\t100";

static void test_rights(void **state)
{
	static const struct {
		const char *start, *start_caps, *now, *now_caps;
		bool same;
	} rows[] = {
		{ user, "0", user, "0", true },
		{ user, "3000", user, "1000", true },
		{ user, "1000", user, "3000", false },
		{ user, "0", user, "80000", false },
		{ user, "0", "Uid:\t1000\t0\t0\t0\nGid:\t100\t100\t100\t100", "0", false },
		{ user, "0", "Uid:\t1000\t1000\t0\t1000\nGid:\t100\t100\t100\t100", "0", false },
		{ user, "0", "Uid:\t1000\t1000\t1000\t1000\nGid:\t100\t42\t42\t42", "0", false },
		/* A service that may switch between its ids may do so in any thread. */
		{ "Uid:\t0\t33\t0\t33\nGid:\t0\t33\t0\t33", "f",
		  "Uid:\t0\t0\t0\t0\nGid:\t33\t0\t33\t0", "f", true },
		{ "Uid:\t33\t33\t33\t33\nGid:\t33\t33\t33\t33", "0",
		  "Uid:\t33\t34\t33\t33\nGid:\t33\t33\t33\t33", "0", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct proc_status start = status_of(rows[i].start, rows[i].start_caps);
		struct proc_status now = status_of(rows[i].now, rows[i].now_caps);

		if (proof_no_more_rights(&start, &now) != rows[i].same)
			fail_msg("row %zu", i);
	}
}

/* An unproven thread is not changed: the kernel is not even asked. */
static void test_unproven(void **state)
{
	static struct arch_xstate x;
	struct arch_regs regs = { 0 };
	struct tracer t = { .proven = 0 };

	(void)state;
	for (pid_t tid = 0; tid < 3; tid++) {
		errno = 0;
		assert_int_equal(proof_set_regs(&t, tid, &regs), -1);
		assert_int_equal(errno, EPERM);
		assert_int_equal(proof_set_xstate(&t, tid, &x), -1);
		assert_int_equal(proof_set_sigmask(&t, tid, 0), -1);
		assert_int_equal(errno, EPERM);
		t.proven = 99;
	}
}

static void test_take(void **state)
{
	struct err err = ERR_INIT;
	struct proc p;
	struct injector inj = { .p = &p };
	struct tracer t = { .inj = &inj };
	int status = proc_thread_status_open(getpid(), getpid());

	(void)state;
	assert_int_equal(proc_open(&p, getpid(), &err), 0);
	inj.start = p.status;
	assert_int_equal(proof_take(&t, getpid(), status, &err), 0);
	assert_int_equal(t.proven, getpid());
	/* A process of its own, whatever it shares through clone(2). */
	p.pid++;
	assert_int_equal(proof_take(&t, getpid(), status, &err), -1);
	assert_int_equal(err.code, ERR_UNSAFE);
	assert_int_equal(t.proven, 0);
	p.pid--;
	assert_int_equal(proof_take(&t, getpid(), -1, &err), -1);
	inj.start.uids[0] = inj.start.uids[1] = inj.start.uids[2] = getuid() + 1;
	assert_int_equal(proof_take(&t, getpid(), status, &err), -1);
	assert_int_equal(t.proven, 0);
	close(status);
	proc_close(&p);
}

/* An exiting thread no longer has a program, even while it still sleeps; its process does. */
static void test_program(void **state)
{
	struct err err = ERR_INIT;
	struct proc p;
	struct injector inj = { .p = &p, .cs.mallctl = (uintptr_t)test_program };
	struct tracer t = { .inj = &inj, .mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC) };

	(void)state;
	assert_int_equal(proc_open(&p, getpid(), &err), 0);
	memcpy(inj.cs.proof, (const void *)inj.cs.mallctl, 16);
	inj.program = proc_program(getpid());
	assert_int_equal(proof_program(&t, getpid(), &err), 0);
	inj.program++;
	assert_int_equal(proof_program(&t, getpid(), &err), -1);
	assert_int_equal(err.code, ERR_UNSAFE);
	inj.cs.proof[0]++;
	assert_int_equal(proof_program(&t, getpid(), &err), -1);
	assert_int_equal(err.code, ERR_LOST);
	close(t.mem);
	proc_close(&p);
}

/* As Linux 6.6 and later write it (arch/x86/kernel/cpu/proc.c, arch_proc_pid_thread_features()). */
static void test_shadow_stack(void **state)
{
	static const struct {
		const char *line;
		bool has;
	} rows[] = {
		{ "x86_Thread_features:\t\nx86_Thread_features_locked:\t", false },
		{ "x86_Thread_features:\tshstk \nx86_Thread_features_locked:\tshstk wrss ", true },
		{ "x86_Thread_features:\tshstk wrss \nx86_Thread_features_locked:\t", true },
		{ "x86_Thread_features:\twrss \nx86_Thread_features_locked:\tshstk wrss ", false },
		{ "x86_Thread_features:\tshstk2 noshstk \n", false },
		{ "x86_Thread_features:\tshstk", true },
		{ "NoNewPrivs:\t0", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct proc_status st = status_of(rows[i].line, "0");
		struct err err = ERR_INIT;

		assert_int_equal(st.shadow_stack, rows[i].has);
		assert_int_equal(check_shadow_stack(7, &st, &err), rows[i].has ? -1 : 0);
		if (!rows[i].has)
			continue;
		assert_int_equal(err.code, ERR_FAILED);
		assert_int_equal(err.ids[0], ERROR_SHADOW_STACK);
		assert_int_equal(err.held.tid, 7);
		assert_int_equal(err.fixes[0], FIX_WITHOUT_SHADOW_STACK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rights),	     cmocka_unit_test(test_unproven),
		cmocka_unit_test(test_take),	     cmocka_unit_test(test_program),
		cmocka_unit_test(test_shadow_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
