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

/* The field `number` of a stat file, `from` which is that of number `at`. NULL without one. */
static const char *stat_field(const char *from, int at, int number)
{
	while (from && at < number) {
		from = strchr(from + 1, ' ');
		at++;
	}
	return from;
}

/*
 * Fields 22 and 28 of /proc/PID/stat, as the first thread's own file has them: for the other the
 * kernel adds up the times of all threads (do_task_stat()). The name in field 2 may hold anything,
 * ")" and spaces included: fields are counted from the last ")".
 */
static int read_stat(struct proc *p, struct err *err)
{
	char text[STAT_SIZE];
	const char *start_time, *stack;

	if (procfs_read_into(p->pid, p->pid, "stat", text, sizeof(text), err))
		return -1;
	start_time = stat_field(strrchr(text, ')'), 2, START_TIME_FIELD);
	stack = stat_field(start_time, START_TIME_FIELD, START_STACK_FIELD);
	if (!start_time || !stack)
		return err_set(err, ERR_FAILED, "cannot make sense of /proc/%d/stat", p->pid);
	p->start_time = strtoull(start_time, NULL, 10);
	p->start_stack = strtoull(stack, NULL, 10);
	return 0;
}

/* A zombie whose other threads still run can be looked at through them. */
static bool has_ended(const struct proc_status *st)
{
	return (st->state == 'Z' || st->state == 'X') && st->threads <= 1;
}

static int no_such(pid_t pid, struct err *err)
{
	return err_set(err, ERR_NOPROC, "there is no process %d", pid);
}

/* ps(1) and top(1) still show it. */
static int is_zombie(const struct proc *p, struct err *err)
{
	return err_set(
		err, ERR_NOPROC,
		"process %d has ended: it is a zombie, which its parent (process %d) has not "
		"waited for",
		p->pid, p->status.ppid);
}

static bool pidfd_ended(int pidfd)
{
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };

	return poll(&pfd, 1, 0) > 0;
}

/* Any thread's id opens a folder in /proc, if only that of the first is listed. */
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
 * Both the status and the start time are of the process behind the pidfd if
 * that one still lives after they were read.
 */
static int read_identity(struct proc *p, struct err *err)
{
	struct proc_status living;

	if (proc_thread_status(p->pid, 0, &p->status, err))
		return -1;
	if (p->status.tgid != p->pid)
		return err_set(err, ERR_USAGE, "%d is a thread of process %d", p->pid,
			       p->status.tgid);
	if (has_ended(&p->status))
		return err_set(err, ERR_LOST, "process %d has ended", p->pid);
	p->mm_pid = living_thread(p);
	/* What goes away with the first thread, but is the process's. */
	if (p->mm_pid != p->pid && !proc_thread_status(p->pid, p->mm_pid, &living, err)) {
		p->status.rss_bytes = living.rss_bytes;
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
	err_set(err, ERR_PERM, "process %d is hidden: /proc is mounted with hidepid", p->pid);
	return err_fix(err, "run as root");
}

int proc_open(struct proc *p, pid_t pid, struct err *err)
{
	_cleanup_(proc_close) struct proc got = { .pid = pid, .pidfd = -1 };

	if (pid <= 0)
		return no_such(pid, err);
	/* -1 on a kernel or a sandbox without pidfd_open(2): the start time guards alone then. */
	got.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (got.pidfd < 0 && errno == ESRCH)
		return no_such(pid, err);
	if (read_identity(&got, err)) {
		if (err->code == ERR_LOST)
			return has_ended(&got.status) ? is_zombie(&got, err)
						      : explain_unseen(&got, err);
		if (err->code == ERR_USAGE)
			return err_fix(err, "give the process: %d", got.status.tgid);
		return -1;
	}
	if (got.pidfd >= 0 && pidfd_ended(got.pidfd))
		return no_such(pid, err);
	*p = got;
	got = (struct proc){ 0 };
	return 0;
}

void proc_close(struct proc *p)
{
	if (p->pid > 0 && p->pidfd >= 0)
		close(p->pidfd);
	*p = (struct proc){ .pidfd = -1 };
}

int proc_refresh(struct proc *p, struct err *err)
{
	struct proc now = { .pid = p->pid, .pidfd = p->pidfd };

	if (read_identity(&now, err))
		return -1;
	if (now.start_time != p->start_time || (p->pidfd >= 0 && pidfd_ended(p->pidfd)))
		return err_set(err, ERR_LOST, "process %d has ended", p->pid);
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
	/* As far as is known: when we have no descriptor left it is no other process. */
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
	flags = stat_field(strrchr(text, ')'), 2, FLAGS_FIELD);
	return strchr("ZX", st.state) ||
	       ((st.sig_pending | st.shared_pending) & UINT64_C(1) << (SIGKILL - 1)) ||
	       (flags && strtoul(flags, NULL, 10) & DYING_FLAGS);
}

int proc_exe(pid_t pid, char *buf, size_t size, struct err *err)
{
	return procfs_readlink(pid, "exe", buf, size, err);
}

/* --- /proc/PID/status --- */

#define STATUS_USUAL 8192
#define STATUS_MAX (2u << 20) /* 65536 groups (NGROUPS_MAX) of 11 characters */

static void set_pid(void *field, const char *s)
{
	*(pid_t *)field = (pid_t)strtol(s, NULL, 10);
}

static void set_uint(void *field, const char *s)
{
	*(unsigned int *)field = (unsigned int)strtoul(s, NULL, 10);
}

static void set_bool(void *field, const char *s)
{
	*(bool *)field = strtoul(s, NULL, 10);
}

/* Words with spaces between; of those that can be on, not of those that are locked. */
static void set_features(void *field, const char *s)
{
	static const char name[] = "shstk";
	const size_t len = sizeof(name) - 1;

	for (; *s && *s != '\n'; s += strcspn(s, " \n"), s += strspn(s, " "))
		if (!strncmp(s, name, len) && (!s[len] || strchr(" \n", s[len])))
			*(bool *)field = true;
}

static void set_mask(void *field, const char *s)
{
	*(uint64_t *)field = strtoull(s, NULL, 16);
}

static void set_count(void *field, const char *s)
{
	*(uint64_t *)field = strtoull(s, NULL, 10);
}

static void set_kib(void *field, const char *s)
{
	*(uint64_t *)field = strtoull(s, NULL, 10) << 10;
}

static void set_state(void *field, const char *s)
{
	*(char *)field = *s;
}

/* One pid per namespace, the innermost last. */
static void set_last_pid(void *field, const char *s)
{
	char *stop;

	for (; isdigit((unsigned char)*s); s = stop + strspn(stop, "\t "))
		*(pid_t *)field = (pid_t)strtol(s, &stop, 10);
}

/* Real, effective and saved id come first. */
static void set_ids(void *field, const char *s)
{
	uint32_t *ids = field;
	char *stop;

	for (int i = 0; i < 3; i++, s = stop)
		ids[i] = (uint32_t)strtoul(s, &stop, 10);
}

static void set_uids(void *field, const char *s)
{
	struct proc_status *st = field;

	set_ids(st->uids, s);
	st->uid = st->uids[0];
	st->euid = st->uids[1];
}

/* The kernel writes a newline as \n and a backslash as \\ here. */
static void set_comm(void *field, const char *s)
{
	char *out = field, *last = out + PROC_COMM_SIZE - 1;

	for (; *s && *s != '\n' && out < last; s++) {
		if (*s == '\\' && (s[1] == 'n' || s[1] == '\\'))
			*out++ = *++s == 'n' ? '\n' : '\\';
		else
			*out++ = *s;
	}
	*out = '\0';
}

static const struct {
	const char *key;
	size_t offset;
	void (*set)(void *field, const char *s);
} lines[] = {
	{ "Name:", offsetof(struct proc_status, comm), set_comm },
	{ "State:", offsetof(struct proc_status, state), set_state },
	{ "Tgid:", offsetof(struct proc_status, tgid), set_pid },
	{ "PPid:", offsetof(struct proc_status, ppid), set_pid },
	{ "TracerPid:", offsetof(struct proc_status, tracer_pid), set_pid },
	{ "NSpid:", offsetof(struct proc_status, ns_pid), set_last_pid },
	{ "Uid:", 0, set_uids },
	{ "Gid:", offsetof(struct proc_status, gids), set_ids },
	{ "CapPrm:", offsetof(struct proc_status, cap_permitted), set_mask },
	{ "Threads:", offsetof(struct proc_status, threads), set_uint },
	{ "Seccomp:", offsetof(struct proc_status, seccomp), set_uint },
	{ "Seccomp_filters:", offsetof(struct proc_status, filters), set_uint },
	{ "NoNewPrivs:", offsetof(struct proc_status, no_new_privs), set_bool },
	{ "x86_Thread_features:", offsetof(struct proc_status, shadow_stack), set_features },
	{ "SigBlk:", offsetof(struct proc_status, sig_blocked), set_mask },
	{ "SigPnd:", offsetof(struct proc_status, sig_pending), set_mask },
	{ "ShdPnd:", offsetof(struct proc_status, shared_pending), set_mask },
	{ "VmRSS:", offsetof(struct proc_status, rss_bytes), set_kib },
	{ "voluntary_ctxt_switches:", offsetof(struct proc_status, switches), set_count },
};

static void parse_line(struct proc_status *st, const char *line)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		size_t len = strlen(lines[i].key);

		if (strncmp(line, lines[i].key, len) != 0)
			continue;
		line += len;
		lines[i].set((char *)st + lines[i].offset, line + (*line == '\t'));
		return;
	}
}

static const char *next_line(const char *line)
{
	const char *stop = strchr(line, '\n');

	return stop ? stop + 1 : NULL;
}

bool proc_status_parse(struct proc_status *st, const char *text)
{
	*st = (struct proc_status){ 0 };
	for (const char *line = text; line; line = next_line(line))
		parse_line(st, line);
	return st->state && st->tgid;
}

int proc_thread_status_open(pid_t pid, pid_t tid)
{
	return procfs_open(pid, tid, "status");
}

static int read_failed(int sys, struct err *err)
{
	if (sys == ESRCH)
		return err_set(err, ERR_LOST, "the thread has ended");
	err_note(sys, "cannot read the status of a thread");
	return err_sys(err, ERR_FAILED, sys, "cannot read the status of a thread");
}

/* All of it in one read: the kernel writes it anew for each that begins at its beginning. */
int proc_thread_status_read(int fd, struct proc_status *st, struct err *err)
{
	for (size_t size = STATUS_USUAL; size <= STATUS_MAX; size *= 16) {
		_cleanup_(cleanup_free) char *text = malloc(size);
		ssize_t len = text ? pread(fd, text, size - 1, 0) : -1;
		struct proc_status got;

		if (len < 0)
			return read_failed(errno, err);
		if ((size_t)len == size - 1)
			continue; /* a member of many groups */
		text[len] = '\0';
		if (!proc_status_parse(&got, text))
			break;
		*st = got;
		return 0;
	}
	return err_set(err, ERR_FAILED, "cannot make sense of the status of a thread");
}

int proc_thread_status(pid_t pid, pid_t tid, struct proc_status *st, struct err *err)
{
	_cleanup_(cleanup_close) int fd = proc_thread_status_open(pid, tid);

	if (fd < 0)
		return procfs_fail(pid, "status", errno, err);
	return proc_thread_status_read(fd, st, err);
}

/* --- memory --- */

/* The memory and the environment of a process. */

#define STRING_CHUNK 256 /* divides the page: a chunk never straddles two */
#define ENVIRON_MAX (8u << 20)
#define AUXV_MAX (64u << 10)

static int memory_read_failed(pid_t pid, uint64_t addr, int sys, struct err *err)
{
	if (sys == ESRCH || sys == ENOENT)
		return err_set(err, ERR_LOST, "process %d has ended", pid);
	if (sys == EPERM || sys == EACCES)
		return err_sys(err, ERR_PERM, sys, "cannot read the memory of process %d", pid);
	if (sys == EIO)
		return err_target(err, ERR_FAILED, sys,
				  "cannot read the memory of process %d at %#llx", pid,
				  (unsigned long long)addr);
	return err_sys(err, ERR_FAILED, sys, "cannot read the memory of process %d at %#llx", pid,
		       (unsigned long long)addr);
}

/* Of the process that a confined one reads; kept, because most is read of one process in a row. */
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

/* EIO is what is not mapped. */
static ssize_t read_memory(int fd, void *buf, size_t len, off_t at)
{
	ssize_t got = pread(fd, buf, len, at);

	if (got < 0 && errno != EIO)
		err_note(errno, "cannot read the memory of process %d", memory_pid);
	return got;
}

/* Through /proc/PID/mem, which needs no right but the descriptor: at its end 0 is read. */
static ssize_t read_through(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	ssize_t got;

	if (memory_fd < 0 || memory_pid != pid)
		return open_memory(pid) ? read_memory(memory_fd, buf, len, (off_t)addr) : -1;
	got = read_memory(memory_fd, buf, len, (off_t)addr);
	/* It belongs to the program that ran when it was opened. */
	return got || !open_memory(pid) ? got : read_memory(memory_fd, buf, len, (off_t)addr);
}

static ssize_t read_some(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = { .iov_base = buf, .iov_len = len };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)addr, .iov_len = len };

	return door_in_use() ? read_through(pid, addr, buf, len)
			     : process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

int proc_read(pid_t pid, uint64_t addr, void *buf, size_t len, struct err *err)
{
	char *out = buf;

	while (len) {
		ssize_t got = read_some(pid, addr, out, len);

		if (got <= 0)
			return memory_read_failed(pid, addr, got ? errno : EFAULT, err);
		out += got;
		addr += (uint64_t)got;
		len -= (size_t)got;
	}
	return 0;
}

/* Up to the end of each aligned chunk, so that nothing behind the string need be mapped. */
int proc_read_string(pid_t pid, uint64_t addr, char *buf, size_t size, struct err *err)
{
	_cleanup_(cleanup_free) char *got = malloc(size);
	size_t used = 0;

	if (!got)
		return err_sys(err, ERR_FAILED, ENOMEM, "no memory for a string of %zu bytes",
			       size);
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
	return err_set(err, ERR_FAILED, "process %d was started without %s", pid, name);
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

/* The auxiliary vector has addresses of the stack, the vDSO and the program, all random. */
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
