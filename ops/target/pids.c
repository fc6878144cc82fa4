// SPDX-License-Identifier: Apache-2.0
#include "ops/target/pids.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "ops/ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int append(pid_t **v, size_t *n, size_t *room, pid_t pid, struct err *err)
{
	if (!vec_grow(*v, *room, *n))
		return err_no_memory(err);
	(*v)[(*n)++] = pid;
	return 0;
}

int pids_read(pid_t **pids, size_t *n, struct err *err)
{
	_cleanup_(cleanup_closedir) DIR *dir = opendir("/proc");
	_cleanup_(cleanup_free) pid_t *v = NULL;
	size_t count = 0, room = 0;
	const struct dirent *e;

	if (!dir)
		return err_raise_sys(err, ERROR_PROC_UNOPENED, errno);
	while (errno = 0, (e = readdir(dir))) {
		int pid = atoi(e->d_name);

		if (pid > 0 && append(&v, &count, &room, pid, err))
			return -1;
	}
	if (errno)
		return err_raise_sys(err, ERROR_PROC_UNLISTED, errno);
	if (count)
		qsort(v, count, sizeof(*v), compare);
	*pids = take_ptr(v);
	*n = count;
	return 0;
}

#define SHOWN_MAX 8

static int ambiguous(const char *comm, const pid_t *found, size_t n, struct err *err)
{
	char list[SHOWN_MAX * 12] = "";
	size_t used = 0;

	for (size_t i = 0; i < n && i < SHOWN_MAX; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%d", i ? " " : "",
					 found[i]);
	err_raise(err, ERROR_NAME_AMBIGUOUS, .number = (int64_t)n, .name = comm, .text = list);
	return err_advise(err, FIX_NAME_ONE_BY_PID);
}

int ops_find_comm(const char *comm, pid_t *pid, struct err *err)
{
	_cleanup_(cleanup_free) pid_t *pids = NULL;
	size_t n, found = 0;

	if (pids_read(&pids, &n, err))
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct err ignored = ERR_INIT;
		struct proc p = { 0 };

		if (proc_open(&p, pids[i], &ignored))
			continue;
		if (!strcmp(p.status.comm, comm))
			pids[found++] = pids[i];
		proc_close(&p);
	}
	if (found > 1)
		return ambiguous(comm, pids, found, err);
	if (!found) {
		err_raise(err, ERROR_NAME_NOT_THERE, .name = comm);
		return err_advise(err, FIX_SEE_LIST);
	}
	*pid = pids[0];
	return 0;
}
