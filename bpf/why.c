// SPDX-License-Identifier: Apache-2.0
#include "bpf/why.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define BTF_FILE "/sys/kernel/btf/vmlinux"
#define UPROBE_TYPE "/sys/bus/event_source/devices/uprobe/type"
#define LOCKDOWN_FILE "/sys/kernel/security/lockdown"
#define BIT(cap) (UINT64_C(1) << (cap))

static _Thread_local char last_warning[256]; /* libbpf warns in the calling thread */

__printf_like(2, 0) static int keep_warning(enum libbpf_print_level level, const char *fmt,
					    va_list ap)
{
	if (level == LIBBPF_WARN && !*last_warning) {
		vsnprintf(last_warning, sizeof(last_warning), fmt, ap);
		last_warning[strcspn(last_warning, "\n")] = '\0';
	}
	return 0;
}

void why_listen(void)
{
	last_warning[0] = '\0';
	libbpf_set_print(keep_warning);
}

static bool read_text(const char *path, char *buf, size_t size)
{
	_cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The number after `key` in our own status, in `base`; 0 if it cannot be read. */
static uint64_t own_status(const char *key, int base)
{
	char text[4096];
	const char *at;

	if (!read_text("/proc/self/status", text, sizeof(text)))
		return 0;
	at = strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, base) : 0;
}

/* The kernel checks capabilities in the initial user namespace. */
static bool in_user_ns(void)
{
	char text[256];

	return read_text("/proc/self/uid_map", text, sizeof(text)) && !strstr(text, "4294967295");
}

static int no_rights(struct err *err)
{
	if (in_user_ns()) {
		err_raise(err, ERROR_BPF_IN_USER_NAMESPACE);
		return err_advise(err, FIX_ROOT_OUTSIDE_USER_NAMESPACE);
	}
	err_raise(err, ERROR_BPF_WITHOUT_CAPABILITIES);
	return err_advise(err, FIX_ROOT_OR_CAP_SYS_ADMIN);
}

/* If securityfs is not mounted, the kernel command line may show it. */
static bool is_confidential(void)
{
	char text[4096];

	if (read_text(LOCKDOWN_FILE, text, sizeof(text)))
		return strstr(text, "[confidentiality]");
	return read_text("/proc/cmdline", text, sizeof(text)) &&
	       strstr(text, "lockdown=confidentiality");
}

/* The IDs of tracepoints are available only there. */
static int no_tracepoints(struct err *err)
{
	static const char *const folders[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	bool mounted = false;
	char path[128], id[32];

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, sizeof(path), "%s/events/syscalls/sys_enter_openat/id", folders[i]);
		if (read_text(path, id, sizeof(id)))
			return 0;
		snprintf(path, sizeof(path), "%s/events", folders[i]);
		mounted |= !access(path, F_OK);
	}
	if (!mounted) {
		err_raise(err, ERROR_TRACEFS_NOT_MOUNTED, .path = folders[0]);
		return err_advise(err, FIX_MOUNT_TRACEFS);
	}
	err_raise(err, ERROR_NO_TRACEPOINTS, .path = folders[0]);
	return err_advise(err, FIX_KERNEL_WITH_SYSCALL_TRACING);
}

static int by_seccomp(struct err *err)
{
	if (!own_status("\nSeccomp:", 10))
		return 0;
	err_raise(err, ERROR_BPF_BEHIND_SECCOMP);
	return err_advise(err, FIX_UNCONFINED_SECCOMP);
}

static int by_memlock(struct err *err)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return 0;
	err_raise(err, ERROR_BPF_MEMLOCK, .number = (int64_t)limit.rlim_cur);
	return err_advise(err, FIX_UNLIMITED_MEMLOCK);
}

int why_impossible(struct err *err)
{
	/* CAP_BPF and CAP_PERFMON suffice for the program; uprobes require CAP_SYS_ADMIN. */
	if (!(own_status("\nCapEff:", 16) & BIT(CAP_SYS_ADMIN)))
		return no_rights(err);
	if (access(BTF_FILE, R_OK)) {
		err_raise_sys(err, ERROR_NO_BTF, errno, .path = BTF_FILE);
		return err_advise(err, FIX_KERNEL_WITH_BTF);
	}
	if (access(UPROBE_TYPE, F_OK)) {
		err_raise_sys(err, ERROR_NO_UPROBES, errno, .path = UPROBE_TYPE);
		return err_advise(err, FIX_KERNEL_WITH_UPROBES);
	}
	if (is_confidential()) {
		err_raise(err, ERROR_KERNEL_LOCKED_DOWN);
		return err_advise(err, FIX_LOCKDOWN_INTEGRITY);
	}
	return no_tracepoints(err);
}

/* Each probe takes two descriptors. */
static int too_many_files(struct err *err)
{
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	err_raise(err, ERROR_NOFILE_LIMITED, .number = (int64_t)limit.rlim_cur);
	return err_advise(err, FIX_RAISE_OWN_NOFILE);
}

static int unknown(enum err_code code, int sys, const char *what, struct err *err)
{
	return err_raise_sys(err, ERROR_BPF_FAILED, sys, .code = code, .what = what,
			     .text = last_warning);
}

int why_not_loaded(int sys, struct err *err)
{
	sys = sys < 0 ? -sys : sys;
	if (sys == ENOSYS) {
		err_raise(err, ERROR_NO_BPF);
		return err_advise(err, FIX_KERNEL_WITH_BPF);
	}
	if (sys == EMFILE)
		return too_many_files(err);
	if (sys != EPERM && sys != EACCES) {
		unknown(ERR_FAILED, sys, "load the eBPF program", err);
		return err_advise(err, FIX_KERNEL_5_10);
	}
	if (in_user_ns())
		return no_rights(err);
	if (by_seccomp(err) || by_memlock(err))
		return -1;
	return unknown(ERR_PERM, sys, "load the eBPF program", err);
}

int why_not_attached(int sys, const char *what, struct err *err)
{
	char text[400];

	sys = sys < 0 ? -sys : sys;
	snprintf(text, sizeof(text), "listen to %s", what);
	if (sys == EMFILE)
		return too_many_files(err);
	if ((sys == EPERM || sys == EACCES) && by_seccomp(err))
		return -1;
	return unknown(sys == EPERM || sys == EACCES ? ERR_PERM : ERR_FAILED, sys, text, err);
}
