// SPDX-License-Identifier: Apache-2.0
#include "process/rights.h"

#include "base/cleanup.h"
#include "process/cgroup.h"
#include "process/procfs.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- who may trace --- */

/* Would ptrace(2) be allowed? Determined without a ptrace request. */

static const char yama_path[] = "/proc/sys/kernel/yama/ptrace_scope";

/* -1 without Yama. */
static int yama_scope(void)
{
	_cleanup_(cleanup_close) int fd = open(yama_path, O_RDONLY | O_CLOEXEC);
	char text[16] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return -1;
	return atoi(text);
}

void proc_rights(const struct proc *p, struct proc_rights *rights)
{
	char ours[64], theirs[64];
	struct err why = ERR_INIT;

	rights->yama_scope = yama_scope();
	rights->capable = capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_PTRACE);
	rights->same_user_ns = -1;
	if (!procfs_readlink(getpid(), "ns/user", ours, sizeof(ours), &why) &&
	    !procfs_readlink(p->mm_pid, "ns/user", theirs, sizeof(theirs), &why))
		rights->same_user_ns = !strcmp(ours, theirs);
	rights->sys = why.sys;
}

static int explain_yama(const struct proc *p, int scope, struct err *err)
{
	if (scope >= 3) {
		err_raise(err, ERROR_PTRACE_OFF_UNTIL_BOOT, .pid = p->pid);
		return err_advise(err, FIX_BOOT_WITH_PTRACE);
	}
	err_raise(err, scope == 1 ? ERROR_PTRACE_SCOPE_CHILD : ERROR_PTRACE_SCOPE_ROOT,
		  .pid = p->pid, .number = scope);
	return err_advise(err, FIX_SUDO_OR_PTRACE_SCOPE);
}

static int explain_root(const struct proc *p, struct err *err)
{
	if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_PTRACE)) {
		err_raise(err, ERROR_NO_CAP_SYS_PTRACE, .pid = p->pid);
		return err_advise(err, FIX_ADD_CAP_SYS_PTRACE);
	}
	if (p->status.euid != geteuid() &&
	    !capng_have_capability(CAPNG_EFFECTIVE, CAP_DAC_READ_SEARCH) &&
	    !capng_have_capability(CAPNG_EFFECTIVE, CAP_DAC_OVERRIDE)) {
		err_raise(err, ERROR_NO_CAP_DAC_READ_SEARCH, .pid = p->pid, .uid = p->status.euid);
		return err_advise(err, FIX_ADD_CAP_DAC_READ_SEARCH);
	}
	err_raise(err, ERROR_PTRACE_DENIED, .pid = p->pid);
	return err_advise(err, FIX_SEE_KERNEL_LOG);
}

/* The kernel only denies; the reason is inferred from what is visible. */
static int explain(const struct proc *p, struct err *err)
{
	int scope = yama_scope();
	bool able = capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_PTRACE);

	if (scope >= 3 || (scope == 2 && !able))
		return explain_yama(p, scope, err);
	if (!geteuid())
		return explain_root(p, err);
	if (p->status.uid != getuid() || p->status.euid != getuid()) {
		err_raise(err, ERROR_OTHER_USER, .pid = p->pid, .uid = p->status.euid,
			  .other = getuid());
		return err_advise(err, FIX_SUDO_OR_USER);
	}
	if (scope == 1 && !able)
		return explain_yama(p, scope, err);
	err_raise(err, ERROR_PROCESS_PROTECTED, .pid = p->pid);
	return err_advise(err, FIX_SUDO);
}

static int already_traced(const struct proc *p, pid_t tracer, struct err *err)
{
	struct proc_status st;
	struct err ignored;

	if (proc_thread_status(tracer, 0, &st, &ignored))
		st.comm[0] = '\0';
	/* A name may contain control characters: only plain ones are shown. */
	for (char *c = st.comm; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	err_raise(err, ERROR_PROCESS_TRACED, .pid = p->pid, .other = tracer, .other_comm = st.comm);
	return err_advise(err, FIX_LET_TRACER_DETACH);
}

int proc_may_trace(const struct proc *p, struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	struct proc_status now;
	char path[64];

	if (p->pid == getpid())
		return err_raise(err, ERROR_IS_SELF);
	if (proc_thread_status(p->pid, 0, &now, err))
		return -1;
	if (now.tracer_pid)
		return already_traced(p, now.tracer_pid, err);
	/* open(2) of mem is checked with PTRACE_MODE_ATTACH, including Yama and other LSMs. */
	snprintf(path, sizeof(path), "/proc/%d/mem", p->mm_pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return 0;
	if (errno == EACCES || errno == EPERM)
		return explain(p, err);
	/* No memory: kthreadd (2), a child of it, or a process that has just released it. */
	if (errno == ESRCH && (p->pid == 2 || now.ppid == 2))
		return err_raise(err, ERROR_IS_KERNEL_THREAD, .pid = p->pid);
	return procfs_fail(p->pid, "mem", errno, err);
}

/* --- frozen control groups --- */

/*
 * The cgroup freezer stops a process without a change of its state (cgroups(7)).
 * In version 2 cgroup.events contains "frozen 1"; in version 1 freezer.state is
 * FROZEN, or FREEZING during the transition.
 */

/* Does any line of the file start with `prefix`? */
static bool file_says(const char *folder, const char *file, const char *prefix)
{
	_cleanup_(cleanup_fclose) FILE *f = NULL;
	char path[PATH_MAX + 64], line[256];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, prefix, strlen(prefix)))
			return true;
	return false;
}

static void look_at_freezer(void *ctx, const char *folder)
{
	bool *frozen = ctx;

	if (file_says(folder, "cgroup.events", "frozen 1") ||
	    file_says(folder, "freezer.state", "FR"))
		*frozen = true;
}

bool proc_frozen(pid_t pid)
{
	bool frozen = false;

	cgroup_each(pid, "freezer", look_at_freezer, &frozen);
	return frozen;
}

void proc_cgroup(pid_t pid, char *buf, size_t size)
{
	struct err ignored = ERR_INIT;

	if (procfs_read_into(pid, 0, "cgroup", buf, size, &ignored) < 0)
		buf[0] = '\0';
}
