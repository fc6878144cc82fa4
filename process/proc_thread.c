// SPDX-License-Identifier: Apache-2.0
/* The threads of a process. */
#include "process/proc.h"

#include "base/cleanup.h"
#include "process/procfs.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS (4u << 20) /* PID_MAX_LIMIT */

static int by_tid(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

static bool grow(pid_t **tids, size_t n, size_t *room)
{
	pid_t *bigger;

	if (n < *room)
		return true;
	if (n >= MAX_THREADS)
		return false;
	*room = *room ? 2 * *room : 64;
	bigger = realloc(*tids, *room * sizeof(**tids));
	if (bigger)
		*tids = bigger;
	return bigger;
}

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
		if (!grow(&got, used, &room))
			return err_sys(err, ERR_FAILED, ENOMEM, "cannot list the threads of %d",
				       pid);
		got[used++] = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	if (errno)
		return procfs_fail(pid, "task", errno, err);
	if (!used)
		return err_set(err, ERR_LOST, "process %d has ended", pid);
	qsort(got, used, sizeof(*got), by_tid);
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
		return err_set(err, ERR_FAILED, "cannot make sense of /proc/%d/task/%d/syscall",
			       pid, tid);
	*sc = got;
	return 0;
}
