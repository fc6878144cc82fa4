// SPDX-License-Identifier: Apache-2.0
#include "front/confine.h"

#include "base/cleanup.h"
#include "base/private.h"
#include "sandbox/allow.h"
#include "sandbox/fence.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATA_MAX (UINT64_C(256) << 20)
#define FILE_MAX (UINT64_C(1) << 20) /* the addresses of SYMBOLS are half of it */
#define PATH_SIZE 256

/* Allowed with any arguments. */
static const int calls[] = {
	SCMP_SYS(epoll_wait),	  SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_ctl),	  SCMP_SYS(read),
	SCMP_SYS(write),	  SCMP_SYS(writev),
	SCMP_SYS(pread64),	  SCMP_SYS(lseek),
	SCMP_SYS(sendfile),	  SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),	  SCMP_SYS(sendmsg),
	SCMP_SYS(shutdown),	  SCMP_SYS(close),
	SCMP_SYS(fstat),	  SCMP_SYS(brk),
	SCMP_SYS(munmap),	  SCMP_SYS(mremap),
	SCMP_SYS(getrandom),	  SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),	  SCMP_SYS(getpid),
	SCMP_SYS(gettid),	  SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigprocmask), SCMP_SYS(restart_syscall),
	SCMP_SYS(sched_yield),	  SCMP_SYS(exit),
	SCMP_SYS(exit_group),
#if FENCE_SANITIZED
	SCMP_SYS(sigaltstack),	  SCMP_SYS(getrusage),
#endif
};

/*
 * setsockopt(2) and fcntl(2) as needed for connections; other requests of fcntl(2) can send
 * signals and lock files. No shared mappings: they do not count as data
 * (DATA_MAX).
 */
static const struct allow_rule rules[] = {
	{ SCMP_SYS(sendto), 1, { SCMP_A4(SCMP_CMP_EQ, 0) } },
	{ SCMP_SYS(setsockopt),
	  2,
	  { SCMP_A1(SCMP_CMP_EQ, IPPROTO_TCP), SCMP_A2(SCMP_CMP_EQ, TCP_NODELAY) } },
	{ SCMP_SYS(setsockopt),
	  2,
	  { SCMP_A1(SCMP_CMP_EQ, IPPROTO_TCP), SCMP_A2(SCMP_CMP_EQ, TCP_CORK) } },
	{ SCMP_SYS(newfstatat), 1, { SCMP_A3(ALLOW_HAS(AT_EMPTY_PATH)) } },
	{ SCMP_SYS(memfd_create), 1, { SCMP_A1(ALLOW_LACKS(MFD_HUGETLB)) } },
	{ SCMP_SYS(fcntl), 1, { SCMP_A1(SCMP_CMP_EQ, F_GETFL) } },
	{ SCMP_SYS(fcntl), 2, { SCMP_A1(SCMP_CMP_EQ, F_SETFL), SCMP_A2(ALLOW_LACKS(O_ASYNC)) } },
	{ SCMP_SYS(fcntl), 1, { SCMP_A1(SCMP_CMP_EQ, F_GETFD) } },
	{ SCMP_SYS(fcntl), 1, { SCMP_A1(SCMP_CMP_EQ, F_SETFD) } },
	{ SCMP_SYS(fcntl), 1, { SCMP_A1(SCMP_CMP_EQ, F_ADD_SEALS) } },
	{ SCMP_SYS(mmap),
	  2,
	  { SCMP_A2(ALLOW_LACKS(PROT_EXEC)),
	    SCMP_A3(ALLOW_LACKS(MAP_HUGETLB | MAP_LOCKED | MAP_SHARED)) } },
	{ SCMP_SYS(mprotect), 1, { SCMP_A2(ALLOW_LACKS(PROT_EXEC)) } },
	{ SCMP_SYS(madvise), 1, { SCMP_A2(SCMP_CMP_EQ, MADV_DONTNEED) } },
	/* Connects to nothing outside. */
	{ SCMP_SYS(socketpair), 1, { SCMP_A0(SCMP_CMP_EQ, AF_UNIX) } },
	{ SCMP_SYS(futex), 1, { SCMP_A1(ALLOW_HAS(FUTEX_PRIVATE_FLAG)) } },
};

/* A deleted directory: it stays empty, as nothing can be created in it. */
static int open_nowhere(const char *parent)
{
	char path[PATH_SIZE];
	int fd;

	if (snprintf(path, sizeof(path), "%s/front.XXXXXX", parent) >= (int)sizeof(path) ||
	    !mkdtemp(path))
		return -1;
	fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (rmdir(path) && fd >= 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool can(unsigned int cap)
{
	return !geteuid() && capng_get_caps_process() == 0 &&
	       capng_have_capability(CAPNG_EFFECTIVE, cap);
}

static int leave_files(struct err *err)
{
	char own[PATH_SIZE];
	const char *const parents[] = { own, "/run", "/tmp", "/var/tmp", "/dev/shm" };
	_cleanup_(cleanup_close) int fd = -1;

	if (!can(CAP_SYS_CHROOT))
		return 0;
	private_path(own, sizeof(own));
	for (size_t i = 0; fd < 0 && i < sizeof(parents) / sizeof(parents[0]); i++)
		fd = open_nowhere(parents[i]);
	if (fd < 0 || fchdir(fd) || chroot("."))
		return err_raise_sys(err, ERROR_CHILD_UNCONFINED, errno);
	return 0;
}

int front_confine(struct err *err)
{
	static const struct allow_list list = ALLOW_LIST(calls, rules);

	/* Signals that end the broker may go to its process group; the front ends after it. */
	static const int ignored[] = { SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP };
	_cleanup_(cleanup_close) int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (size_t i = 0; i < ALLOW_COUNT(ignored); i++)
		signal(ignored[i], SIG_IGN);
	if (leave_files(err) < 0)
		return -1;
	/* Before the capability is dropped: execve(2) could regain capabilities otherwise. */
	if (can(CAP_SETPCAP)) {
		capng_clear(CAPNG_SELECT_BOUNDS);
		if (capng_apply(CAPNG_SELECT_BOUNDS) < 0)
			return err_raise(err, ERROR_CHILD_CAPABILITIES_KEPT);
	}
	fence_leave_root();
	fence_limit(RLIMIT_CORE, 0);
	fence_limit(RLIMIT_NPROC, 0);
	fence_limit(RLIMIT_FSIZE, FILE_MAX);
	/* A sanitizer reserves terabytes. */
	if (!FENCE_SANITIZED)
		fence_limit(RLIMIT_DATA, DATA_MAX);
	if (fence_drop_capabilities(err) < 0)
		return -1;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || prctl(PR_SET_DUMPABLE, 0))
		return err_raise_sys(err, ERROR_CHILD_UNCONFINED, errno);
	/* Lines in the broker's log are trusted: only a sanitizer may write there. */
	if (dup2(null, STDOUT_FILENO) < 0 || (!FENCE_SANITIZED && dup2(null, STDERR_FILENO) < 0))
		return err_raise_sys(err, ERROR_CHILD_UNCONFINED, errno);
	return allow_only(&list, 1, err);
}
