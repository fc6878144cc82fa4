// SPDX-License-Identifier: Apache-2.0
#include "sandbox/fence.h"

#include "sandbox/allow.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40 /* Linux 5.9 */
#endif

/* Allowed with any arguments: none of these affects another process, or a file by name. */
static const int confined_calls[] = {
	SCMP_SYS(read),		 SCMP_SYS(pread64),
	SCMP_SYS(write),	 SCMP_SYS(pwrite64),
	SCMP_SYS(lseek),	 SCMP_SYS(close),
	SCMP_SYS(fstat),	 SCMP_SYS(fstatfs),
	SCMP_SYS(ftruncate),	 SCMP_SYS(getdents64),
	SCMP_SYS(poll),		 SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),	 SCMP_SYS(brk),
	SCMP_SYS(munmap),	 SCMP_SYS(mremap),
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),	 SCMP_SYS(restart_syscall),
	SCMP_SYS(sched_yield),	 SCMP_SYS(getrandom),
	SCMP_SYS(getpid),	 SCMP_SYS(gettid),
	SCMP_SYS(getuid),	 SCMP_SYS(geteuid),
	SCMP_SYS(getegid),	 SCMP_SYS(uname),
	SCMP_SYS(sysinfo),	 SCMP_SYS(getrusage),
	SCMP_SYS(rt_sigaction),	 SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),	 SCMP_SYS(sigaltstack),
	SCMP_SYS(exit),		 SCMP_SYS(exit_group),
};

static const int opener_calls[] = {
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendmsg),
	SCMP_SYS(fstat),
	SCMP_SYS(fstatfs),
	SCMP_SYS(newfstatat),
	SCMP_SYS(pread64),
	SCMP_SYS(close),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(openat2),
	SCMP_SYS(getrandom),
	SCMP_SYS(poll),
	SCMP_SYS(flock),
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(geteuid),
	SCMP_SYS(getegid),
	SCMP_SYS(rt_sigprocmask),
};

/*
 * Calls that are limited to the process's own memory and descriptors.
 *
 * In fcntl(2), F_SETOWN, F_SETSIG and O_ASYNC can signal any process of the same user, and
 * F_SETLEASE and locks can block other processes' access to files. Huge pages are a resource of the
 * whole machine, and MADV_PAGEOUT, MADV_MERGEABLE and similar ones affect pages shared with other
 * processes. A non-private futex may be in a file mapped by another process.
 */
static const struct allow_rule own_rules[] = {
	{ SCMP_SYS(fcntl), 1, { SCMP_A1(SCMP_CMP_EQ, F_DUPFD) } },
	{ SCMP_SYS(fcntl), 1, { SCMP_A1(SCMP_CMP_EQ, F_DUPFD_CLOEXEC) } },
	{ SCMP_SYS(fcntl), 1, { SCMP_A1(SCMP_CMP_EQ, F_GETFD) } },
	{ SCMP_SYS(fcntl), 1, { SCMP_A1(SCMP_CMP_EQ, F_SETFD) } },
	{ SCMP_SYS(fcntl), 1, { SCMP_A1(SCMP_CMP_EQ, F_GETFL) } },
	{ SCMP_SYS(mmap),
	  2,
	  { SCMP_A2(ALLOW_LACKS(PROT_EXEC)), SCMP_A3(ALLOW_LACKS(MAP_HUGETLB | MAP_LOCKED)) } },
	{ SCMP_SYS(mprotect), 1, { SCMP_A2(ALLOW_LACKS(PROT_EXEC)) } },
	{ SCMP_SYS(madvise), 1, { SCMP_A2(SCMP_CMP_EQ, MADV_DONTNEED) } },
	{ SCMP_SYS(futex), 1, { SCMP_A1(ALLOW_HAS(FUTEX_PRIVATE_FLAG)) } },
};

static const struct allow_rule confined_rules[] = {
	{ SCMP_SYS(memfd_create), 1, { SCMP_A1(ALLOW_LACKS(MFD_HUGETLB)) } },
	{ SCMP_SYS(sendto), 1, { SCMP_A4(SCMP_CMP_EQ, 0) } },
	/* fstat(3) of glibc from 2.33 on, and statx(2): with an empty path. */
	{ SCMP_SYS(newfstatat), 1, { SCMP_A3(ALLOW_HAS(AT_EMPTY_PATH)) } },
	{ SCMP_SYS(statx), 1, { SCMP_A2(ALLOW_HAS(AT_EMPTY_PATH)) } },
};

/* For reading; unnamed files may be written. */
static const struct allow_rule opener_rules[] = {
	{ SCMP_SYS(openat),
	  1,
	  { SCMP_A2(ALLOW_LACKS(O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))) } },
	{ SCMP_SYS(openat), 1, { SCMP_A2(ALLOW_HAS(O_TMPFILE)) } },
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
		return err_raise(err, ERROR_CHILD_CAPABILITIES_UNREAD);
	for (size_t i = 0; i < n; i++)
		have[i] = capng_have_capability(CAPNG_PERMITTED, kept[i]);
	capng_clear(CAPNG_SELECT_CAPS);
	for (size_t i = 0; i < n; i++)
		if (have[i])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, kept[i]);
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return err_raise(err, ERROR_CHILD_CAPABILITIES_KEPT);
	return 0;
}

static bool is_root_with(const unsigned int *caps, size_t n)
{
	bool all = !geteuid() && capng_get_caps_process() == 0;

	for (size_t i = 0; i < n; i++)
		all = all && capng_have_capability(CAPNG_EFFECTIVE, caps[i]);
	return all;
}

void fence_leave_root(void)
{
	/* The controller, which has the same capabilities, then needs CAP_KILL to kill it. */
	static const unsigned int needed[] = { CAP_SETUID, CAP_SETGID, CAP_KILL };
	const uid_t own = FENCE_USER_FIRST + (uid_t)getpid();

	if (is_root_with(needed, COUNT(needed)) && !prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) &&
	    !setgroups(0, NULL) && !setresgid(own, own, own))
		(void)!setresuid(own, own, own);
}

void fence_opener_leave_root(void)
{
	/* Without the first two, it can open root's files only as root. */
	if (is_root_with(opener_caps, 2))
		fence_leave_root();
}

void fence_limit(int resource, uint64_t max)
{
	struct rlimit now;

	if (getrlimit((__rlimit_resource_t)resource, &now) || now.rlim_max < max)
		return;
	now.rlim_cur = now.rlim_max = max;
	setrlimit((__rlimit_resource_t)resource, &now);
}

int fence_drop_capabilities(struct err *err)
{
	if (keep_capabilities(NULL, 0, err) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_raise_sys(err, ERROR_CHILD_UNCONFINED, errno);
	return 0;
}

int fence_confined(struct err *err)
{
	static const struct allow_list lists[] = {
		ALLOW_LIST(confined_calls, confined_rules),
		{ .rules = own_rules, .n_rules = COUNT(own_rules) },
	};

	return fence_drop_capabilities(err) < 0 ? -1 : allow_only(lists, COUNT(lists), err);
}

int fence_opener(bool network, struct err *err)
{
	static const struct allow_list lists[] = {
		ALLOW_LIST(opener_calls, opener_rules),
		{ .rules = own_rules, .n_rules = COUNT(own_rules) },
	};

	if (keep_capabilities(opener_caps, COUNT(opener_caps), err) < 0)
		return -1;
	return network ? 0 : allow_only(lists, COUNT(lists), err);
}
