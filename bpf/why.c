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

static char last_warning[256];

static int keep_warning(enum libbpf_print_level level, const char *fmt, va_list ap)
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

/* The number behind `key` in our own status, in `base`; 0 if it cannot be read. */
static uint64_t own_status(const char *key, int base)
{
	char text[4096];
	const char *at;

	if (!read_text("/proc/self/status", text, sizeof(text)))
		return 0;
	at = strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, base) : 0;
}

/* CAP_BPF and CAP_PERFMON do for the program; for a uprobe the kernel wants CAP_SYS_ADMIN. */
static bool may_watch(void)
{
	return own_status("\nCapEff:", 16) & BIT(CAP_SYS_ADMIN);
}

/* Capabilities count for the kernel's own user namespace, and not for another one. */
static bool in_user_ns(void)
{
	char text[256];

	return read_text("/proc/self/uid_map", text, sizeof(text)) && !strstr(text, "4294967295");
}

static int no_rights(struct err *err)
{
	if (in_user_ns()) {
		err_set(err, ERR_PERM,
			"cannot load an eBPF program from within a user namespace: "
			"CAP_BPF and CAP_PERFMON do not count there");
		return err_fix(err, "run it as root on the host, or in a container without a user "
				    "namespace of its own");
	}
	err_set(err, ERR_PERM,
		"cannot load an eBPF program (CAP_BPF, CAP_PERFMON) and place "
		"uprobes (CAP_SYS_ADMIN) without these capabilities");
	return err_fix(err, "run it as root, or with CAP_SYS_ADMIN, which is all of them, and "
			    "CAP_SYS_PTRACE (in a container: --privileged --pid=host)");
}

/* Where securityfs is not mounted, what the kernel was started with may tell. */
static bool is_confidential(void)
{
	char text[4096];

	if (read_text(LOCKDOWN_FILE, text, sizeof(text)))
		return strstr(text, "[confidentiality]");
	return read_text("/proc/cmdline", text, sizeof(text)) &&
	       strstr(text, "lockdown=confidentiality");
}

static int locked_down(struct err *err)
{
	if (!is_confidential())
		return 0;
	err_set(err, ERR_PERM,
		"this kernel is locked down: its mode confidentiality lets no eBPF "
		"program look at memory");
	return err_fix(err, "start the kernel with lockdown=integrity, or without lockdown");
}

/* The kernel tells the numbers of its tracepoints there, and nowhere else. */
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
		err_set(err, ERR_FAILED, "tracefs is not mounted at %s", folders[0]);
		return err_fix(err, "mount -t tracefs tracefs %s (in a container: bind the host's)",
			       folders[0]);
	}
	err_set(err, ERR_FAILED,
		"this kernel has no tracepoints at its system calls: %s/events/syscalls",
		folders[0]);
	return err_fix(err, "run a kernel that was built with CONFIG_FTRACE_SYSCALLS=y");
}

static int by_seccomp(struct err *err)
{
	if (!own_status("\nSeccomp:", 10))
		return 0;
	err_set(err, ERR_PERM,
		"cannot load an eBPF program: jeprof-ctl has the rights, but runs "
		"under a seccomp filter that seems to forbid bpf(2) or "
		"perf_event_open(2)");
	return err_fix(err, "in a container: --privileged, or --security-opt seccomp=unconfined");
}

static int by_memlock(struct err *err)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return 0;
	err_set(err, ERR_PERM,
		"cannot load an eBPF program: kernels before Linux 5.11 count its memory as "
		"locked, and RLIMIT_MEMLOCK is %llu bytes",
		(unsigned long long)limit.rlim_cur);
	return err_fix(err, "ulimit -l unlimited");
}

int why_impossible(struct err *err)
{
	if (!may_watch())
		return no_rights(err);
	if (access(BTF_FILE, R_OK)) {
		err_sys(err, ERR_FAILED, errno, "the kernel has no BTF type information: %s",
			BTF_FILE);
		return err_fix(err, "run a kernel that was built with CONFIG_DEBUG_INFO_BTF=y, as "
				    "those of the distributions are, and have /sys mounted");
	}
	if (access(UPROBE_TYPE, F_OK)) {
		err_sys(err, ERR_FAILED, errno, "this kernel has no uprobes: %s", UPROBE_TYPE);
		return err_fix(err, "run a kernel that was built with CONFIG_UPROBE_EVENTS=y, and "
				    "have /sys mounted");
	}
	return locked_down(err) || no_tracepoints(err) ? -1 : 0;
}

/* Each probe takes two descriptors. */
static int too_many_files(struct err *err)
{
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	err_set(err, ERR_FAILED, "no more than %llu files may be open at a time (RLIMIT_NOFILE)",
		(unsigned long long)limit.rlim_cur);
	return err_fix(err, "ulimit -n 4096");
}

static int unknown(enum err_code code, int sys, const char *what, struct err *err)
{
	char said[sizeof(last_warning)], safe[300];

	output_safe(last_warning, said, sizeof(said));
	return err_sys(err, code, sys, "cannot %s%s%s%s", output_safe(what, safe, sizeof(safe)),
		       *said ? " (" : "", said, *said ? ")" : "");
}

int why_not_loaded(int sys, struct err *err)
{
	sys = sys < 0 ? -sys : sys;
	if (sys == ENOSYS) {
		err_set(err, ERR_FAILED, "this kernel has no bpf(2)");
		return err_fix(err, "run a kernel that was built with CONFIG_BPF_SYSCALL=y");
	}
	if (sys == EMFILE)
		return too_many_files(err);
	if (sys != EPERM && sys != EACCES) {
		unknown(ERR_FAILED, sys, "load the eBPF program", err);
		return err_fix(err, "watch needs Linux 5.10 or newer");
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
