// SPDX-License-Identifier: Apache-2.0
#include "process/proc_status.h"

#include "base/cleanup.h"
#include "process/procfs.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
