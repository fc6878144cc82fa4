// SPDX-License-Identifier: Apache-2.0
/* Bounded reads below /proc/PID, with errors translated. */
#ifndef PROCESS_PROCFS_H
#define PROCESS_PROCFS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Open /proc/PID/`name`, or /proc/PID/task/TID/`name` when tid is not 0; -1 with errno. */
int procfs_open(pid_t pid, pid_t tid, const char *name);

/*
 * The content of /proc/PID/`name`, or of /proc/PID/task/TID/`name` when tid is
 * not 0, NUL-terminated, in a malloc()ed buffer that the caller frees.
 * ERR_LOST if the process has ended, ERR_PERM if it may not be read,
 * ERR_FAILED beyond `max` bytes.
 */
int procfs_read(pid_t pid, pid_t tid, const char *name, size_t max, char **text, size_t *len,
		struct err *err) __must_check;

/* The same into the caller's buffer, truncated to size - 1 bytes; for short files. */
int procfs_read_into(pid_t pid, pid_t tid, const char *name, char *buf, size_t size,
		     struct err *err) __must_check;

/* The target of the link /proc/PID/`name`, truncated to size - 1 bytes. */
int procfs_readlink(pid_t pid, const char *name, char *buf, size_t size, struct err *err)
	__must_check;

/* door_below() of the target's root: open `path` there; links cannot lead out of it. */
int procfs_open_in_root(pid_t pid, const char *path, uint64_t max);

/*
 * The text of the symbolic link `name` in the directory `dir` of the target's
 * root, truncated to size - 1 bytes, and not followed. *is_link: is it a link?
 * If not, `buf` is unchanged. ERR_PERM or ERR_LOST if that cannot be determined.
 */
int procfs_readlink_in_root(pid_t pid, const char *dir, const char *name, char *buf, size_t size,
			    bool *is_link, struct err *err) __must_check;

/* Translate an errno value of an access below /proc/PID. Returns -1. */
int procfs_fail(pid_t pid, const char *name, int sys, struct err *err);

/*
 * Field `number` (3 or higher) in the text of a stat file, proc_pid_stat(5), with the blank before
 * it; NULL if missing. The name in field 2 may contain anything, including ")" and blanks, so
 * fields are counted from the last ")".
 */
const char *procfs_stat_field(const char *text, int number);

#endif
