// SPDX-License-Identifier: Apache-2.0
/*
 * Thread mode makes system calls that the program may never have made. While
 * we are attached, its filters are suspended (PTRACE_O_SUSPEND_SECCOMP); but if
 * we die, the new thread must be able to end by itself, and the borrowed one
 * to finish. So each call on the way is put to the filters first
 * (PTRACE_SECCOMP_GET_FILTER, Linux 4.4), and none may kill or trap.
 */
#include "injector/private.h"
#include "injector/seccomp_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "base/cleanup.h"

#define FILTERS_MAX 64

/* Those of pthread_create, of a thread's life and end, and of a dump. */
static const struct {
	long nr;
	const char *name;
	bool must_work; /* else an error from the filter is as good */
} calls[] = {
	{ SYS_clone3, "clone3", false },
	{ SYS_clone, "clone", false },
	{ SYS_mmap, "mmap", true },
	{ SYS_mprotect, "mprotect", true },
	{ SYS_munmap, "munmap", false },
	{ SYS_madvise, "madvise", false },
	{ SYS_rt_sigprocmask, "rt_sigprocmask", true },
	{ SYS_rt_sigreturn, "rt_sigreturn", true },
	{ SYS_set_robust_list, "set_robust_list", false },
	{ SYS_rseq, "rseq", false },
	{ SYS_futex, "futex", true },
	{ SYS_getppid, "getppid", false },
	{ SYS_exit, "exit", true },
	{ SYS_open, "open", false },
	{ SYS_openat, "openat", false },
	{ SYS_creat, "creat", false },
	{ SYS_write, "write", false },
	{ SYS_read, "read", false },
	{ SYS_close, "close", false },
};

static bool lets_pass(uint32_t action, bool must_work)
{
	action &= SECCOMP_RET_ACTION_FULL;
	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG ||
	       (action == SECCOMP_RET_ERRNO && !must_work);
}

/* The first call that this filter would not bear, or NULL. */
static const char *check_filter(const struct sock_filter *prog, size_t n)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		struct seccomp_data data = { .nr = (int)calls[i].nr, .arch = AUDIT_ARCH_X86_64 };

		if (!lets_pass(seccomp_filter_run(prog, n, &data), calls[i].must_work))
			return calls[i].name;
	}
	return NULL;
}

int seccomp_check(pid_t tid, bool *allowed, char *why, size_t size)
{
	for (unsigned long i = 0; i < FILTERS_MAX; i++) {
		_cleanup_(cleanup_free) struct sock_filter *prog = NULL;
		long n = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, NULL);
		const char *bad;

		if (n < 0) {
			*allowed = errno == ENOENT && i > 0;
			if (!*allowed)
				snprintf(why, size, "%s",
					 "anybody without CAP_SYS_ADMIN to read it");
			return 0;
		}
		prog = calloc((size_t)n, sizeof(*prog));
		if (!prog || ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, prog) != n)
			return -1;
		bad = check_filter(prog, (size_t)n);
		if (bad) {
			*allowed = false;
			snprintf(why, size, "%s(2), which a thread of its own needs", bad);
			return 0;
		}
	}
	return -1;
}
