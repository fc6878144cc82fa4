// SPDX-License-Identifier: Apache-2.0
/*
 * The tracer processes untrusted data. So it drops all capabilities except those for attaching and
 * reading, and all system calls except those it makes. It can then neither open a file for writing,
 * nor start a program, nor use the network.
 */
#include "injector/confine.h"

#include "injector/tracee.h"
#include "process/maps.h"
#include "sandbox/allow.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

static const int allowed[] = {
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	SCMP_SYS(pread64),
	SCMP_SYS(pwrite64),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(close),
	SCMP_SYS(lseek),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(statx),
	SCMP_SYS(getdents64),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(sched_yield),
	SCMP_SYS(getrandom),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(futex),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(brk),
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(mprotect),
	SCMP_SYS(madvise),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* Neither PTRACE_O_EXITKILL nor PTRACE_O_SUSPEND_SECCOMP. */
#define OTHER_OPTIONS \
	(~(uint64_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC))

/* Multiplexed system calls: the requests in use. */
static const struct allow_rule rules[] = {
	{ SCMP_SYS(ptrace),
	  2,
	  { SCMP_A0(SCMP_CMP_EQ, PTRACE_SEIZE), SCMP_A3(ALLOW_LACKS(OTHER_OPTIONS)) } },
	{ SCMP_SYS(ptrace),
	  2,
	  { SCMP_A0(SCMP_CMP_EQ, PTRACE_SETOPTIONS), SCMP_A3(ALLOW_LACKS(OTHER_OPTIONS)) } },
	{ SCMP_SYS(ptrace), 1, { SCMP_A0(SCMP_CMP_EQ, PTRACE_INTERRUPT) } },
	{ SCMP_SYS(ptrace), 1, { SCMP_A0(SCMP_CMP_EQ, PTRACE_CONT) } },
	{ SCMP_SYS(ptrace), 1, { SCMP_A0(SCMP_CMP_EQ, PTRACE_SYSCALL) } },
	{ SCMP_SYS(ptrace), 1, { SCMP_A0(SCMP_CMP_EQ, PTRACE_DETACH) } },
	{ SCMP_SYS(ptrace), 1, { SCMP_A0(SCMP_CMP_EQ, PTRACE_GETEVENTMSG) } },
	{ SCMP_SYS(ptrace), 1, { SCMP_A0(SCMP_CMP_EQ, PTRACE_GETREGSET) } },
	{ SCMP_SYS(ptrace), 1, { SCMP_A0(SCMP_CMP_EQ, PTRACE_SETREGSET) } },
	{ SCMP_SYS(ptrace), 1, { SCMP_A0(SCMP_CMP_EQ, PTRACE_GETSIGMASK) } },
	{ SCMP_SYS(ptrace), 1, { SCMP_A0(SCMP_CMP_EQ, PTRACE_SETSIGMASK) } },
	{ SCMP_SYS(ptrace), 1, { SCMP_A0(SCMP_CMP_EQ, PTRACE_POKEDATA) } },
	{ SCMP_SYS(ptrace), 1, { SCMP_A0(SCMP_CMP_EQ, GET_RSEQ_CONFIGURATION) } },
	/* made by glibc's opendir(3) */
	{ SCMP_SYS(fcntl), 1, { SCMP_A1(SCMP_CMP_EQ, F_GETFL) } },
	{ SCMP_SYS(fcntl), 1, { SCMP_A1(SCMP_CMP_EQ, F_SETFD) } },
	{ SCMP_SYS(ioctl), 1, { SCMP_A1(SCMP_CMP_EQ, MAP_QUERY_IOCTL) } },
	/* reads limits, sets none */
	{ SCMP_SYS(prlimit64), 1, { SCMP_A2(SCMP_CMP_EQ, 0) } },
	/* its own affinity only (wait.c) */
	{ SCMP_SYS(sched_getaffinity), 1, { SCMP_A0(SCMP_CMP_EQ, 0) } },
	{ SCMP_SYS(sched_setaffinity), 1, { SCMP_A0(SCMP_CMP_EQ, 0) } },
	{ SCMP_SYS(openat), 1, { SCMP_A2(ALLOW_LACKS(O_ACCMODE | O_CREAT | O_TRUNC)) } },
};

static void keep(unsigned int capability, bool have)
{
	if (have)
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, capability);
}

/*
 * CAP_DAC_OVERRIDE only where a container lacks CAP_DAC_READ_SEARCH: the filter allows no writing.
 */
int confine_capabilities(bool reads_filters, struct err *err)
{
	bool traces, reads, overrides, admin;

	if (capng_get_caps_process() < 0)
		return err_raise(err, ERROR_TRACER_CAPABILITIES_UNREAD);
	traces = capng_have_capability(CAPNG_PERMITTED, CAP_SYS_PTRACE);
	reads = capng_have_capability(CAPNG_PERMITTED, CAP_DAC_READ_SEARCH);
	overrides = !reads && capng_have_capability(CAPNG_PERMITTED, CAP_DAC_OVERRIDE);
	admin = reads_filters && capng_have_capability(CAPNG_PERMITTED, CAP_SYS_ADMIN);
	capng_clear(CAPNG_SELECT_CAPS);
	keep(CAP_SYS_PTRACE, traces);	  /* attach to the next thread */
	keep(CAP_DAC_READ_SEARCH, reads); /* read /proc of another user's process */
	keep(CAP_DAC_OVERRIDE, overrides);
	keep(CAP_SYS_ADMIN, admin); /* read seccomp filters */
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return err_raise(err, ERROR_TRACER_CAPABILITIES_KEPT);
	return 0;
}

bool confine_rules_filters(void)
{
	return prctl(PR_GET_SECCOMP) == 0 && capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_ADMIN);
}

int confine_syscalls(struct err *err)
{
	static const struct allow_list list = ALLOW_LIST(allowed, rules);

	return allow_only(&list, 1, err);
}
