// SPDX-License-Identifier: Apache-2.0
#include "io/graphviz_child.h"

#include "base/cleanup.h"
#include "base/own_limits.h"
#include "sandbox/fence.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define USER_TRIES 16
#define MEMORY_MAX ((rlim_t)2 << 30)
#define PICTURE_MAX ((rlim_t)1 << 30)
#define CPU_MAX_S 120
#define FILES_MAX 64
#define THREADS_MAX 32

/* The second range is for user namespaces, which seldom map more than 65536 IDs. */
static const struct {
	uid_t first, n;
} ranges[] = { { 0x70000000, 0x0ffffff0 }, { 60578, 606 } };

/* A directory in /proc is owned by the effective user of its process. */
static bool is_used(uid_t user)
{
	_cleanup_(cleanup_closedir) DIR *dir = opendir("/proc");
	const struct dirent *e;
	struct stat st;

	if (!dir)
		return true;
	while ((e = readdir(dir))) {
		if (*e->d_name >= '1' && *e->d_name <= '9' &&
		    !fstatat(dirfd(dir), e->d_name, &st, 0) && st.st_uid == user)
			return true;
	}
	return false;
}

/* Is the ID mapped in this user namespace (user_namespaces(7))? */
static bool is_mapped(uid_t user)
{
	_cleanup_(cleanup_fclose) FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned int first, above, n;

	while (f && fscanf(f, "%u %u %u", &first, &above, &n) == 3)
		if (user >= first && user - first < n)
			return true;
	return false;
}

bool graphviz_user(uid_t *user)
{
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		for (int try = 0; try < USER_TRIES; try++) {
			uint32_t random;
			uid_t got;

			if (getrandom(&random, sizeof(random), 0) != sizeof(random))
				return false;
			got = ranges[i].first + random % ranges[i].n;
			if (!is_mapped(got))
				break;
			if (is_used(got))
				continue;
			*user = got;
			return true;
		}
	}
	return false;
}

static bool limit(int what, rlim_t most)
{
	const struct rlimit l = { most, most };
	struct rlimit now;

	/* The hard limit may already be lower. */
	return !getrlimit((__rlimit_resource_t)what, &now) &&
	       ((now.rlim_max != RLIM_INFINITY && now.rlim_max <= most) ||
		!setrlimit((__rlimit_resource_t)what, &l));
}

static bool deny(scmp_filter_ctx filter, const char *name)
{
	int call = seccomp_syscall_resolve_name(name);

	/* A call unknown to this libseccomp cannot be denied by name. */
	return call == __NR_SCMP_ERROR || !seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0);
}

/*
 * It may create threads, but no processes. A filter cannot check the flags of clone3(2), which has
 * a fallback.
 */
static bool deny_processes(scmp_filter_ctx filter)
{
	return !seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
				 SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)) &&
	       !seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

/* Deny access to other processes and to networks. */
static bool fence_in(void)
{
	static const char *const denied[] = {
		"fork",
		"vfork",
		"ptrace",
		"kill",
		"socket",
		"socketpair",
		"process_vm_readv",
		"process_vm_writev",
		"pidfd_open",
		"pidfd_getfd",
		"pidfd_send_signal",
		"unshare",
		"setns",
		"mount",
		"bpf",
		"perf_event_open",
		"io_uring_setup",
		"userfaultfd",
		"keyctl",
		"add_key",
		"request_key",
		"name_to_handle_at",
		"open_by_handle_at",
		"kcmp",
	};
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	bool ok = filter && deny_processes(filter);

	for (size_t i = 0; ok && i < sizeof(denied) / sizeof(*denied); i++)
		ok = deny(filter, denied[i]);
	ok = ok && !seccomp_load(filter);
	seccomp_release(filter);
	return ok;
}

/* Limits are set after the change of the user, as some are counted per user. */
static bool fence(void)
{
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) &&
	       !prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) &&
	       /* Sanitizers reserve terabytes. */
	       (FENCE_SANITIZED || limit(RLIMIT_AS, MEMORY_MAX)) && limit(RLIMIT_CPU, CPU_MAX_S) &&
	       limit(RLIMIT_FSIZE, PICTURE_MAX) && limit(RLIMIT_NOFILE, FILES_MAX) &&
	       limit(RLIMIT_CORE, 0) && fence_in();
}

/* To its own files, folder, user and limits. */
static bool change(const struct graphviz_start *s)
{
	/* A child of fork(2) is not a process group leader: setsid(2) succeeds. */
	if (setsid() < 0 || dup2(s->graph, 0) != 0 || dup2(s->picture, 1) != 1 ||
	    dup2(s->said, 2) != 2 || syscall(SYS_close_range, 3U, ~0U, 0U) || chdir("/"))
		return false;
	/* Without a user of its own, all processes of the user would be counted. */
	if (s->changes_user &&
	    (setgroups(0, NULL) || setresgid(s->user, s->user, s->user) ||
	     setresuid(s->user, s->user, s->user) || !limit(RLIMIT_NPROC, THREADS_MAX)))
		return false;
	return fence();
}

_Noreturn void graphviz_become(const struct graphviz_start *s)
{
	char *const argv[] = { (char *)"dot", (char *)s->option, NULL };
	char *const environment[] = { (char *)"PATH=/usr/bin:/bin", NULL };

	sigset_t none;

	sigemptyset(&none);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	own_limits_lend();
	if (change(s))
		execve(s->path, argv, environment);
	dprintf(2, "%s: %s\n", s->path, strerror(errno));
	_exit(GRAPHVIZ_CANNOT);
}
