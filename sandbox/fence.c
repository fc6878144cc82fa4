// SPDX-License-Identifier: Apache-2.0
#include "sandbox/fence.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40 /* Linux 5.9 */
#endif

static const int confined_calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(write),
	SCMP_SYS(pwrite64),
	SCMP_SYS(writev),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(fstatfs),
	SCMP_SYS(fcntl),
	SCMP_SYS(dup),
	SCMP_SYS(ftruncate),
	SCMP_SYS(fallocate),
	SCMP_SYS(getdents64),
	SCMP_SYS(memfd_create),
	SCMP_SYS(copy_file_range),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(sendto),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(brk),
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(mprotect),
	SCMP_SYS(madvise),
	SCMP_SYS(mincore),
	SCMP_SYS(futex),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(sched_yield),
	SCMP_SYS(getrandom),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getegid),
	SCMP_SYS(uname),
	SCMP_SYS(sysinfo),
	SCMP_SYS(getrusage),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

static const int opener_calls[] = {
	SCMP_SYS(recvfrom),	 SCMP_SYS(sendmsg),
	SCMP_SYS(fstat),	 SCMP_SYS(fstatfs),
	SCMP_SYS(newfstatat),	 SCMP_SYS(pread64),
	SCMP_SYS(close),	 SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),	 SCMP_SYS(access),
	SCMP_SYS(faccessat),	 SCMP_SYS(faccessat2),
	SCMP_SYS(openat2),	 SCMP_SYS(getrandom),
	SCMP_SYS(unlink),	 SCMP_SYS(fcntl),
	SCMP_SYS(brk),		 SCMP_SYS(mmap),
	SCMP_SYS(munmap),	 SCMP_SYS(mprotect),
	SCMP_SYS(futex),	 SCMP_SYS(getpid),
	SCMP_SYS(gettid),	 SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigaction),	 SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(exit),		 SCMP_SYS(exit_group),
	SCMP_SYS(clock_gettime), SCMP_SYS(restart_syscall),
	SCMP_SYS(geteuid),	 SCMP_SYS(getegid),
	SCMP_SYS(madvise),
};

static const unsigned int opener_caps[] = {
	CAP_SYS_PTRACE,		/* /proc/PID/mem, maps, exe of other users' processes */
	CAP_DAC_READ_SEARCH,	/* their files */
	CAP_CHECKPOINT_RESTORE, /* /proc/PID/map_files */
};

static int keep_capabilities(const unsigned int *kept, size_t n, struct err *err)
{
	bool have[8] = { false };

	if (capng_get_caps_process() < 0)
		return err_set(err, ERR_FAILED, "cannot read the capabilities of a child");
	for (size_t i = 0; i < n; i++)
		have[i] = capng_have_capability(CAPNG_PERMITTED, kept[i]);
	capng_clear(CAPNG_SELECT_CAPS);
	for (size_t i = 0; i < n; i++)
		if (have[i])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, kept[i]);
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return err_set(err, ERR_FAILED, "cannot drop the capabilities of a child");
	return 0;
}

/* The functions that add return the negative error of libseccomp. */

static int add_calls(scmp_filter_ctx ctx, const int *calls, size_t n)
{
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
	return ret;
}

/* For reading; a file that is made for this and has no other name may be written. */
static int add_opens(scmp_filter_ctx ctx)
{
	const unsigned int reads = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);
	const unsigned int fresh = O_CREAT | O_EXCL;

	int ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				   SCMP_A2(SCMP_CMP_MASKED_EQ, reads, O_RDONLY));

	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, O_TMPFILE, O_TMPFILE));
	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, fresh, fresh));
	return ret;
}

/* With the kernel's own errors, not those of the library. */
static scmp_filter_ctx new_filter(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	if (ctx)
		seccomp_attr_set(ctx, SCMP_FLTATR_API_SYSRAWRC, 1);
	return ctx;
}

/* Ends `ctx`. A host without seccomp(2) is no reason not to work. */
static int load(scmp_filter_ctx ctx, int ret, struct err *err)
{
	if (ret == 0) {
		ret = seccomp_load(ctx);
		if (ret == -EINVAL || ret == -ENOSYS)
			ret = 0;
	}
	seccomp_release(ctx);
	if (ret < 0)
		return err_sys(err, ERR_FAILED, -ret, "cannot confine a child");
	return 0;
}

/* fstat(3), as glibc makes it from 2.33 on, and statx(2): no path but "" is meant. */
static int add_fstat(scmp_filter_ctx ctx)
{
	int ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
				   SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH));

	return ret ? ret
		   : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(statx), 1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH));
}

int fence_drop_capabilities(struct err *err)
{
	if (keep_capabilities(NULL, 0, err) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_sys(err, ERR_FAILED, errno, "cannot confine a child");
	return 0;
}

int fence_confined(struct err *err)
{
	scmp_filter_ctx ctx;
	int ret = -ENOMEM;

	if (fence_drop_capabilities(err) < 0)
		return -1;
	ctx = new_filter();
	if (ctx)
		ret = add_calls(ctx, confined_calls,
				sizeof(confined_calls) / sizeof(*confined_calls));
	if (!ret)
		ret = add_fstat(ctx);
	return load(ctx, ret, err);
}

int fence_opener(bool network, struct err *err)
{
	scmp_filter_ctx ctx;
	int ret = -ENOMEM;

	if (keep_capabilities(opener_caps, sizeof(opener_caps) / sizeof(*opener_caps), err) < 0)
		return -1;
	if (network)
		return 0;
	ctx = new_filter();
	if (ctx)
		ret = add_calls(ctx, opener_calls, sizeof(opener_calls) / sizeof(*opener_calls));
	if (!ret)
		ret = add_opens(ctx);
	return load(ctx, ret, err);
}
