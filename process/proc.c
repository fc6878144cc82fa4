// SPDX-License-Identifier: Apache-2.0
#include "process/proc.h"

#include "base/cleanup.h"
#include "process/procfs.h"
#include "sandbox/door.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define STAT_SIZE 4096
#define FLAGS_FIELD 9
#define DYING_FLAGS 0x404u /* PF_EXITING, PF_SIGNALED of <linux/sched.h>; the same since 2.6 */
#define START_TIME_FIELD 22
#define START_STACK_FIELD 28

/*
 * Fields 22 and 28 of /proc/PID/stat, from the file of the first thread: for that of the process
 * the kernel would add up the times of all threads (do_task_stat()).
 */
static int read_stat(struct proc *p, struct err *err)
{
	char text[STAT_SIZE];
	const char *start_time, *stack;

	if (procfs_read_into(p->pid, p->pid, "stat", text, sizeof(text), err))
		return -1;
	start_time = procfs_stat_field(text, START_TIME_FIELD);
	stack = procfs_stat_field(text, START_STACK_FIELD);
	if (!start_time || !stack)
		return err_raise(err, ERROR_STAT_MALFORMED, .pid = p->pid);
	p->start_time = strtoull(start_time, NULL, 10);
	p->start_stack = strtoull(stack, NULL, 10);
	return 0;
}

/* A zombie leader with running threads can be examined through one of them. */
static bool has_ended(const struct proc_status *st)
{
	return (st->state == 'Z' || st->state == 'X') && st->threads <= 1;
}

static int no_such(pid_t pid, struct err *err)
{
	return err_raise(err, ERROR_NO_PROCESS, .pid = pid);
}

static bool pidfd_ended(int pidfd)
{
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };

	return poll(&pfd, 1, 0) > 0;
}

/* /proc has a directory for any thread's id, although only first threads are listed. */
static pid_t living_thread(const struct proc *p)
{
	_cleanup_(cleanup_free) pid_t *tids = NULL;
	struct proc_status st;
	struct err ignored;
	size_t n;

	if (p->status.state != 'Z' || proc_threads(p->pid, &tids, &n, &ignored))
		return p->pid;
	for (size_t i = 0; i < n; i++)
		if (!proc_thread_status(p->pid, tids[i], &st, &ignored) && !strchr("ZX", st.state))
			return tids[i];
	return p->pid;
}

/*
 * The status and the start time are those of the process behind the pidfd if
 * it is still alive after they were read.
 */
static int read_identity(struct proc *p, struct err *err)
{
	struct proc_status living;

	if (proc_thread_status(p->pid, 0, &p->status, err))
		return -1;
	if (p->status.tgid != p->pid)
		return err_raise(err, ERROR_IS_THREAD, .tid = p->pid, .pid = p->status.tgid);
	if (has_ended(&p->status))
		return err_raise(err, ERROR_PROCESS_ENDED, .pid = p->pid);
	p->mm_pid = living_thread(p);
	/* Lost with the first thread, but a property of the process. */
	if (p->mm_pid != p->pid && !proc_thread_status(p->pid, p->mm_pid, &living, err)) {
		p->status.rss_bytes = living.rss_bytes;
		p->status.rss_anon_bytes = living.rss_anon_bytes;
		p->status.seccomp = living.seccomp;
	}
	return read_stat(p, err);
}

/* Why a process that has a pidfd cannot be seen in /proc. */
static int explain_unseen(const struct proc *p, struct err *err)
{
	if (p->pidfd < 0 || pidfd_ended(p->pidfd))
		return no_such(p->pid, err);
	if (kill(p->pid, 0) && errno == ESRCH)
		return no_such(p->pid, err);
	err_raise(err, ERROR_PROCESS_HIDDEN, .pid = p->pid);
	return err_advise(err, FIX_RUN_AS_ROOT);
}

int proc_open(struct proc *p, pid_t pid, struct err *err)
{
	_cleanup_(proc_close) struct proc got = { .pid = pid, .pidfd = -1 };

	if (pid <= 0)
		return no_such(pid, err);
	/* -1 on a kernel or in a sandbox without pidfd_open(2): only the start time guards then. */
	got.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (got.pidfd < 0 && errno == ESRCH)
		return no_such(pid, err);
	if (read_identity(&got, err)) {
		if (err->code == ERR_LOST && has_ended(&got.status)) /* ps(1) still shows it */
			return err_raise(err, ERROR_PROCESS_ZOMBIE, .pid = pid,
					 .other = got.status.ppid);
		if (err->code == ERR_LOST)
			return explain_unseen(&got, err);
		if (err->code == ERR_USAGE)
			return err_advise(err, FIX_GIVE_THE_PROCESS, .pid = got.status.tgid);
		return -1;
	}
	if (got.pidfd >= 0 && pidfd_ended(got.pidfd))
		return no_such(pid, err);
	*p = got;
	got = (struct proc){ 0 };
	return 0;
}

int proc_open_at(struct proc *p, pid_t pid, uint64_t start_time, struct err *err)
{
	if (proc_open(p, pid, err))
		return -1;
	return start_time && start_time != p->start_time
		       ? err_raise(err, ERROR_ENDED_MEANWHILE, .pid = pid)
		       : 0;
}

void proc_close(struct proc *p)
{
	if (p->pid > 0 && p->pidfd >= 0)
		close(p->pidfd);
	*p = (struct proc){ .pidfd = -1 };
}

int proc_by_pid(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

int proc_refresh(struct proc *p, struct err *err)
{
	struct proc now = { .pid = p->pid, .pidfd = p->pidfd };

	if (read_identity(&now, err))
		return -1;
	if (now.start_time != p->start_time || (p->pidfd >= 0 && pidfd_ended(p->pidfd)))
		return err_raise(err, ERROR_PROCESS_ENDED, .pid = p->pid);
	p->status = now.status;
	p->mm_pid = now.mm_pid;
	p->start_stack = now.start_stack;
	return 0;
}

bool proc_alive(const struct proc *p)
{
	struct proc now = *p;
	struct err why = ERR_INIT;

	if (p->pidfd >= 0)
		return !pidfd_ended(p->pidfd);
	/* As far as is known: running out of descriptors does not mean another process. */
	if (read_identity(&now, &why))
		return why.code != ERR_LOST;
	return now.start_time == p->start_time;
}

bool proc_replaced(const struct proc *p)
{
	struct proc now = { .pid = p->pid };
	struct err ignored = ERR_INIT;

	return !read_stat(&now, &ignored) && p->start_stack && now.start_stack &&
	       (now.start_stack != p->start_stack || now.start_time != p->start_time);
}

bool proc_is_dying(pid_t pid)
{
	struct err why = ERR_INIT;
	struct proc_status st;
	char text[STAT_SIZE];
	const char *flags;

	if (proc_thread_status(pid, 0, &st, &why) ||
	    procfs_read_into(pid, 0, "stat", text, sizeof(text), &why))
		return why.code == ERR_LOST;
	flags = procfs_stat_field(text, FLAGS_FIELD);
	return strchr("ZX", st.state) ||
	       ((st.sig_pending | st.shared_pending) & UINT64_C(1) << (SIGKILL - 1)) ||
	       (flags && strtoul(flags, NULL, 10) & DYING_FLAGS);
}

int proc_exe(pid_t pid, char *buf, size_t size, struct err *err)
{
	return procfs_readlink(pid, "exe", buf, size, err);
}

/* --- memory --- */

/* The memory and the environment of a process. */

#define STRING_CHUNK 256 /* divides the page: a chunk never straddles two */
#define ENVIRON_MAX (8u << 20)
#define AUXV_MAX (64u << 10)

static int memory_read_failed(pid_t pid, uint64_t addr, int sys, struct err *err)
{
	if (sys == ESRCH || sys == ENOENT)
		return err_raise(err, ERROR_PROCESS_ENDED, .pid = pid);
	if (sys == EPERM || sys == EACCES)
		return err_raise_sys(err, ERROR_MEMORY_FORBIDDEN, sys, .pid = pid);
	if (sys == EIO)
		return err_raise_target(err, ERROR_MEMORY_UNREADABLE, sys, .pid = pid,
					.address = (int64_t)addr);
	return err_raise_sys(err, ERROR_MEMORY_UNREADABLE, sys, .pid = pid,
			     .address = (int64_t)addr);
}

/* For a confined process; kept open, since most reads in a row are from one process. */
static int memory_fd = -1;
static pid_t memory_pid;

void proc_read_forget(void)
{
	cleanup_close(&memory_fd);
	memory_fd = -1;
}

static bool open_memory(pid_t pid)
{
	proc_read_forget();
	memory_fd = door_proc(pid, 0, "mem");
	memory_pid = pid;
	return memory_fd >= 0;
}

/* EIO: not mapped. */
static ssize_t read_memory(int fd, void *buf, size_t len, off_t at)
{
	ssize_t got = pread(fd, buf, len, at);

	if (got < 0 && errno != EIO)
		err_remember(errno, ERROR_MEMORY_UNREADABLE, .pid = memory_pid);
	return got;
}

/* Through /proc/PID/mem, which needs no privilege but the descriptor; 0 at its end. */
static ssize_t read_through(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	ssize_t got;

	if (memory_fd < 0 || memory_pid != pid)
		return open_memory(pid) ? read_memory(memory_fd, buf, len, (off_t)addr) : -1;
	got = read_memory(memory_fd, buf, len, (off_t)addr);
	/* It belongs to the program that ran when it was opened. */
	return got || !open_memory(pid) ? got : read_memory(memory_fd, buf, len, (off_t)addr);
}

int proc_read(pid_t pid, uint64_t addr, void *buf, size_t len, struct err *err)
{
	char *out = buf;

	while (len) {
		struct iovec local = { .iov_base = out, .iov_len = len };
		struct iovec remote = { .iov_base = (void *)(uintptr_t)addr, .iov_len = len };
		ssize_t got = door_in_use() ? read_through(pid, addr, out, len)
					    : process_vm_readv(pid, &local, 1, &remote, 1, 0);

		if (got <= 0)
			return memory_read_failed(pid, addr, got ? errno : EFAULT, err);
		out += got;
		addr += (uint64_t)got;
		len -= (size_t)got;
	}
	return 0;
}

/* In aligned chunks, so that nothing after the string has to be mapped. */
int proc_read_string(pid_t pid, uint64_t addr, char *buf, size_t size, struct err *err)
{
	_cleanup_(cleanup_free) char *got = malloc(size);
	size_t used = 0;

	if (!got)
		return err_no_memory(err);
	while (used < size - 1) {
		size_t want = STRING_CHUNK - (addr + used) % STRING_CHUNK;

		if (want > size - 1 - used)
			want = size - 1 - used;
		if (proc_read(pid, addr + used, got + used, want, err))
			return -1;
		if (memchr(got + used, '\0', want)) {
			strcpy(buf, got);
			return 0;
		}
		used += want;
	}
	memcpy(buf, got, used);
	buf[used] = '\0';
	return 0;
}

int proc_getenv(pid_t pid, const char *name, char *buf, size_t size, struct err *err)
{
	_cleanup_(cleanup_free) char *text = NULL;
	size_t len, name_len = strlen(name);

	if (procfs_read(pid, 0, "environ", ENVIRON_MAX, &text, &len, err)) {
		err->code = ERR_FAILED;
		return -1;
	}
	for (const char *s = text; s < text + len; s += strlen(s) + 1) {
		if (strncmp(s, name, name_len) != 0 || s[name_len] != '=')
			continue;
		snprintf(buf, size, "%s", s + name_len + 1);
		return 0;
	}
	return err_raise(err, ERROR_NOT_IN_ENVIRONMENT, .pid = pid, .name = name);
}

bool proc_auxval(pid_t pid, uint64_t type, uint64_t *value)
{
	_cleanup_(cleanup_free) char *text = NULL;
	struct err ignored;
	uint64_t pair[2];
	size_t len;

	if (procfs_read(pid, 0, "auxv", AUXV_MAX, &text, &len, &ignored))
		return false;
	for (size_t at = 0; at + sizeof(pair) <= len; at += sizeof(pair)) {
		memcpy(pair, text + at, sizeof(pair));
		if (pair[0] == type) {
			*value = pair[1];
			return true;
		}
	}
	return false;
}

/* The auxiliary vector contains randomized addresses: stack, vDSO and program. */
uint64_t proc_program(pid_t pid)
{
	_cleanup_(cleanup_free) char *text = NULL;
	uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */
	struct err ignored;
	size_t len;

	if (procfs_read(pid, 0, "auxv", AUXV_MAX, &text, &len, &ignored))
		return 0;
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return hash;
}

bool proc_program_changed(pid_t pid, uint64_t program)
{
	uint64_t now = proc_program(pid);

	return now && program && now != program;
}
