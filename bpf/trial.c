// SPDX-License-Identifier: Apache-2.0
#include "bpf/trial.h"

#include "base/cleanup.h"
#include "process/maps.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define UPROBES "/sys/bus/event_source/devices/uprobe/"
#define PATIENCE_MS 5000
#define FILE_SIZE 64

__attribute__((noinline, noclone)) void trial_probed(void)
{
	__asm__ volatile("");
}

/* The PMU type of uprobes, and the config bit for return probes. */
static bool read_type(unsigned int *type, unsigned int *bit)
{
	_cleanup_(cleanup_fclose) FILE *f = fopen(UPROBES "type", "re");
	_cleanup_(cleanup_fclose) FILE *format = fopen(UPROBES "format/retprobe", "re");

	return f && format && fscanf(f, "%u", type) == 1 && fscanf(format, "config:%u", bit) == 1 &&
	       *bit < 64;
}

/*
 * The file of our program, by its mapping, and the offset of the function in it. /proc/self/exe may
 * be the loader, if that was started explicitly (packaging/starter.c).
 */
static bool find_probed(void (*probed)(void), char file[FILE_SIZE], uint64_t *offset)
{
	_cleanup_(maps_fini) struct maps maps = { 0 };
	const struct map *m;
	char name[MAP_FILE_NAME_SIZE];
	struct err ignored;

	if (maps_read(&maps, getpid(), &ignored))
		return false;
	m = maps_find(&maps, (uintptr_t)probed);
	if (!m || !m->inode)
		return false;
	*offset = (uintptr_t)probed - m->start + m->offset;
	snprintf(file, FILE_SIZE, "/proc/self/%s", map_file_name(m->start, m->end, name));
	return true;
}

/* An event that counts the returns of the function in one process: perf_event_open(2). */
static int probe_return(pid_t pid, const char *file, uint64_t offset)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	unsigned int bit = 0;

	if (!read_type(&attr.type, &bit))
		return -1;
	attr.config = UINT64_C(1) << bit;
	attr.uprobe_path = (uintptr_t)file;
	attr.probe_offset = offset;
	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* --- the child --- */

static bool fence(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };
	const struct rlimit none = { 0, 0 };

	return !setrlimit(RLIMIT_CORE, &none) && !prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) &&
	       !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
}

/* A sanitizer would make system calls of its own before _exit(2), under the filter. */
static __attribute__((no_sanitize("address"))) _Noreturn void be_probed(int sock,
									void (*probed)(void))
{
	char go = 0;

	/* Status 1 means neither killed by a signal nor success. */
	if (!fence() || write(sock, &go, 1) != 1 || read(sock, &go, 1) != 1)
		_exit(1);
	probed();
	_exit(0);
}

/* --- the parent --- */

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, PATIENCE_MS) == 1;
}

/* The child waits under its filter: probe it, let it call the function, and check the result. */
static enum trial watch_child(pid_t pid, int sock, const char *file, uint64_t offset)
{
	_cleanup_(cleanup_close) int event = -1;
	uint64_t count = 0;
	char byte = 0;
	int status;

	if (is_readable(sock) && read(sock, &byte, 1) == 1)
		event = probe_return(pid, file, offset);
	/* The other end is closed when the child exits. */
	if (event < 0 || write(sock, &byte, 1) != 1 || !is_readable(sock))
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return TRIAL_UNKNOWN;
	if (event < 0)
		return TRIAL_UNKNOWN;
	/* A filter may instead make the system call fail: then the return crashes. */
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		return TRIAL_KILLED;
	return WIFEXITED(status) && !WEXITSTATUS(status) &&
			       read(event, &count, sizeof(count)) == sizeof(count) && count
		       ? TRIAL_LIVES
		       : TRIAL_UNKNOWN;
}

enum trial trial_run(void (*probed)(void))
{
	char file[FILE_SIZE];
	uint64_t offset;
	int ends[2];
	enum trial ret;
	pid_t pid;

	if (!find_probed(probed, file, &offset) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return TRIAL_UNKNOWN;
	pid = fork();
	if (!pid) {
		close(ends[0]);
		be_probed(ends[1], probed);
	}
	close(ends[1]);
	ret = pid < 0 ? TRIAL_UNKNOWN : watch_child(pid, ends[0], file, offset);
	close(ends[0]);
	return ret;
}
