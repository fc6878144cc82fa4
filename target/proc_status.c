// SPDX-License-Identifier: Apache-2.0
#include "target/proc_status.h"

#include "target/procfs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_SIZE 8192

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

static void set_mask(void *field, const char *s)
{
	*(uint64_t *)field = strtoull(s, NULL, 16);
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

/* Real and effective id come first. */
static void set_uids(void *field, const char *s)
{
	struct proc_status *st = field;
	char *stop;

	st->uid = (uid_t)strtoul(s, &stop, 10);
	st->euid = (uid_t)strtoul(stop, NULL, 10);
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
	{ "Threads:", offsetof(struct proc_status, threads), set_uint },
	{ "Seccomp:", offsetof(struct proc_status, seccomp), set_uint },
	{ "NoNewPrivs:", offsetof(struct proc_status, no_new_privs), set_bool },
	{ "SigBlk:", offsetof(struct proc_status, sig_blocked), set_mask },
	{ "SigPnd:", offsetof(struct proc_status, sig_pending), set_mask },
	{ "ShdPnd:", offsetof(struct proc_status, shared_pending), set_mask },
	{ "VmRSS:", offsetof(struct proc_status, rss_bytes), set_kib },
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

int proc_thread_status(pid_t pid, pid_t tid, struct proc_status *st, struct err *err)
{
	struct proc_status got;
	char text[STATUS_SIZE];

	if (procfs_read_into(pid, tid, "status", text, sizeof(text), err))
		return -1;
	if (!proc_status_parse(&got, text))
		return err_set(err, ERR_FAILED, "cannot make sense of the status of process %d",
			       pid);
	*st = got;
	return 0;
}
