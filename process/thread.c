// SPDX-License-Identifier: Apache-2.0
#include "process/thread.h"

#include "arch/machine.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/vec.h"
#include "process/proc.h"
#include "process/procfs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Words separated by spaces: enabled features, not the locked ones. */
static void set_features(void *field, const char *s)
{
	static const char name[] = ARCH_SHADOW_STACK;
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

/* One pid for each namespace, the innermost last. */
static void set_last_pid(void *field, const char *s)
{
	char *stop;

	for (; isdigit((unsigned char)*s); s = stop + strspn(stop, "\t "))
		*(pid_t *)field = (pid_t)strtol(s, &stop, 10);
}

/* Real, effective and saved id, in this order. */
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
	{ ARCH_FEATURES ":", offsetof(struct proc_status, shadow_stack), set_features },
	{ "SigBlk:", offsetof(struct proc_status, sig_blocked), set_mask },
	{ "SigPnd:", offsetof(struct proc_status, sig_pending), set_mask },
	{ "ShdPnd:", offsetof(struct proc_status, shared_pending), set_mask },
	{ "VmRSS:", offsetof(struct proc_status, rss_bytes), set_kib },
	{ "RssAnon:", offsetof(struct proc_status, rss_anon_bytes), set_kib },
	{ "voluntary_ctxt_switches:", offsetof(struct proc_status, switches), set_count },
};

bool proc_status_parse(struct proc_status *st, const char *text)
{
	*st = (struct proc_status){ 0 };
	for (const char *line = text; line; line = text_next_line(line)) {
		for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
			size_t len = strlen(lines[i].key);

			if (strncmp(line, lines[i].key, len) != 0)
				continue;
			line += len;
			lines[i].set((char *)st + lines[i].offset, line + (*line == '\t'));
			break;
		}
	}
	return st->state && st->tgid;
}

int proc_thread_status_open(pid_t pid, pid_t tid)
{
	return procfs_open(pid, tid, "status");
}

/* In one read: each read at offset 0 generates the text again. */
int proc_thread_status_read(int fd, struct proc_status *st, struct err *err)
{
	for (size_t size = STATUS_USUAL; size <= STATUS_MAX; size *= 16) {
		_cleanup_(cleanup_free) char *text = malloc(size);
		ssize_t len = text ? pread(fd, text, size - 1, 0) : -1;
		struct proc_status got;
		int sys = errno;

		if (len < 0 && sys == ESRCH)
			return err_raise(err, ERROR_THE_THREAD_ENDED);
		if (len < 0) {
			err_remember(sys, ERROR_THE_THREAD_UNREADABLE);
			return err_raise_sys(err, ERROR_THE_THREAD_UNREADABLE, sys);
		}
		if ((size_t)len == size - 1)
			continue; /* a member of many groups */
		text[len] = '\0';
		if (!proc_status_parse(&got, text))
			break;
		*st = got;
		return 0;
	}
	return err_raise(err, ERROR_THE_THREAD_MALFORMED);
}

int proc_thread_status(pid_t pid, pid_t tid, struct proc_status *st, struct err *err)
{
	_cleanup_(cleanup_close) int fd = proc_thread_status_open(pid, tid);

	if (fd < 0)
		return procfs_fail(pid, "status", errno, err);
	return proc_thread_status_read(fd, st, err);
}

/* --- the threads of a process --- */

#define MAX_THREADS (4u << 20) /* PID_MAX_LIMIT */

int proc_threads(pid_t pid, pid_t **tids, size_t *n, struct err *err)
{
	_cleanup_(cleanup_closedir) DIR *dir = NULL;
	_cleanup_(cleanup_free) pid_t *got = NULL;
	size_t used = 0, room = 0;
	struct dirent *entry;
	int fd = procfs_open(pid, 0, "task");

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		cleanup_close(&fd);
		return procfs_fail(pid, "task", errno, err);
	}
	while (errno = 0, (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (used == MAX_THREADS)
			return err_raise(err, ERROR_TOO_MANY_THREADS, .pid = pid);
		if (!vec_grow(got, room, used))
			return err_no_memory(err);
		got[used++] = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	if (errno)
		return procfs_fail(pid, "task", errno, err);
	if (!used)
		return err_raise(err, ERROR_PROCESS_ENDED, .pid = pid);
	vec_sort(got, used, proc_by_pid);
	*tids = take_ptr(got);
	*n = used;
	return 0;
}

/* "running", "-1 SP PC" or "NR ARG*6 SP PC", all but NR in hexadecimal. */
static bool syscall_parse(struct proc_syscall *sc, const char *text)
{
	int got;

	*sc = (struct proc_syscall){ .nr = -1 };
	if (!strncmp(text, "running", strlen("running"))) {
		sc->running = true;
		return true;
	}
	got = sscanf(text, "%ld %lx %lx %lx %lx %lx %lx %lx %lx", &sc->nr, &sc->args[0],
		     &sc->args[1], &sc->args[2], &sc->args[3], &sc->args[4], &sc->args[5], &sc->sp,
		     &sc->pc);
	if (got == 3 && sc->nr == -1) {
		sc->sp = sc->args[0];
		sc->pc = sc->args[1];
		memset(sc->args, 0, sizeof(sc->args));
		return true;
	}
	return got == 9;
}

int proc_thread_syscall(pid_t pid, pid_t tid, struct proc_syscall *sc, struct err *err)
{
	struct proc_syscall got;
	char text[512];

	if (procfs_read_into(pid, tid, "syscall", text, sizeof(text), err))
		return -1;
	if (!syscall_parse(&got, text))
		return err_raise(err, ERROR_SYSCALL_MALFORMED, .pid = pid, .tid = tid);
	*sc = got;
	return 0;
}

/* --- when a thread ran --- */

/* The scheduler's statistics of a thread. */

#define SCHED_SIZE 8192
#define STAT_SIZE 4096
#define STAT_CPU 39 /* proc_pid_stat(5): "processor" */

/* "se.exec_start : 12932165.780685", in milliseconds. */
static bool parse_ran(const char *text, uint64_t *ns)
{
	static const char key[] = "se.exec_start";
	const char *line = strstr(text, key), *value = line ? strchr(line, ':') : NULL;
	unsigned long long ms, rest;

	if (!value || sscanf(value + 1, "%llu.%6llu", &ms, &rest) != 2 || !(ms | rest))
		return false;
	*ns = ms * 1000000 + rest;
	return true;
}

bool proc_thread_ran(pid_t pid, pid_t tid, struct proc_ran *ran)
{
	struct err ignored = ERR_INIT;
	char text[SCHED_SIZE];
	const char *cpu;

	if (procfs_read_into(pid, tid, "sched", text, sizeof(text), &ignored) ||
	    !parse_ran(text, &ran->ns) ||
	    procfs_read_into(pid, tid, "stat", text, STAT_SIZE, &ignored))
		return false;
	cpu = procfs_stat_field(text, STAT_CPU);
	return cpu && sscanf(cpu, "%d", &ran->cpu) == 1;
}
