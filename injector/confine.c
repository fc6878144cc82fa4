// SPDX-License-Identifier: Apache-2.0
/*
 * The tracer handles what a stranger's process hands it. So it gives up what
 * it will not need: all capabilities but those that attach and look, and all
 * system calls but those it makes. It can then neither open a file for
 * writing, nor start a program, nor reach a network.
 */
#include "injector/confine.h"

#include "injector/tracee.h"
#include "process/maps.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
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

static const unsigned int ptrace_requests[] = {
	PTRACE_INTERRUPT,   PTRACE_CONT,      PTRACE_SYSCALL,	      PTRACE_DETACH,
	PTRACE_GETEVENTMSG, PTRACE_GETREGSET, PTRACE_SETREGSET,	      PTRACE_GETSIGMASK,
	PTRACE_SETSIGMASK,  PTRACE_POKEDATA,  GET_RSEQ_CONFIGURATION,
};

/* Neither PTRACE_O_EXITKILL nor PTRACE_O_SUSPEND_SECCOMP. */
#define PTRACE_OPTIONS (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)
static const unsigned int with_options[] = { PTRACE_SEIZE, PTRACE_SETOPTIONS };

static const unsigned int of_opendir[] = { F_GETFL, F_SETFD }; /* fcntl(2), as glibc does it */

static void keep(unsigned int capability, bool have)
{
	if (have)
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, capability);
}

/* CAP_DAC_OVERRIDE only where a container has that alone: the fence lets nothing be written. */
int confine_capabilities(bool reads_filters, struct err *err)
{
	bool traces, reads, overrides, admin;

	if (capng_get_caps_process() < 0)
		return err_set(err, ERR_FAILED, "cannot read the tracer's own capabilities");
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
		return err_set(err, ERR_FAILED, "cannot drop the tracer's capabilities");
	return 0;
}

bool confine_rules_filters(void)
{
	return prctl(PR_GET_SECCOMP) == 0 && capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_ADMIN);
}

/* The calls that do many things: those of them that are made. A negative error of libseccomp's. */
static int add_commands(scmp_filter_ctx ctx)
{
	int ret = 0;

	for (size_t i = 0; i < sizeof(ptrace_requests) / sizeof(*ptrace_requests) && !ret; i++)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(ptrace), 1,
				       SCMP_A0(SCMP_CMP_EQ, ptrace_requests[i]));
	for (size_t i = 0; i < sizeof(with_options) / sizeof(*with_options) && !ret; i++)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(ptrace), 2,
				       SCMP_A0(SCMP_CMP_EQ, with_options[i]),
				       SCMP_A3(SCMP_CMP_MASKED_EQ, ~(uint64_t)PTRACE_OPTIONS, 0));
	for (size_t i = 0; i < sizeof(of_opendir) / sizeof(*of_opendir) && !ret; i++)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				       SCMP_A1(SCMP_CMP_EQ, of_opendir[i]));
	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
				       SCMP_A1(SCMP_CMP_EQ, MAP_QUERY_IOCTL));
	if (!ret) /* limits are read, and not set */
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
				       SCMP_A2(SCMP_CMP_EQ, 0));
	return ret;
}

static int add_rules(scmp_filter_ctx ctx)
{
	int ret = add_commands(ctx);

	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed) && !ret; i++)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	/* Its own place alone (wait.c). */
	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(sched_getaffinity), 1,
				       SCMP_A0(SCMP_CMP_EQ, 0));
	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(sched_setaffinity), 1,
				       SCMP_A0(SCMP_CMP_EQ, 0));
	return ret ? ret
		   : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC,
					      O_RDONLY));
}

int confine_syscalls(struct err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int ret = -ENOMEM;

	if (ctx) { /* the kernel's own errors, not those of the library */
		seccomp_attr_set(ctx, SCMP_FLTATR_API_SYSRAWRC, 1);
		ret = add_rules(ctx);
	}
	if (!ret) {
		ret = seccomp_load(ctx);
		/* A host without seccomp(2), or a sanitizer, is no reason not to work. */
		if (ret == -EINVAL || ret == -ENOSYS)
			ret = 0;
	}
	seccomp_release(ctx);
	if (ret < 0)
		return err_sys(err, ERR_FAILED, -ret, "cannot confine the tracer");
	return 0;
}
