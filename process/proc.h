// SPDX-License-Identifier: Apache-2.0
/*
 * A process, looked at from outside. Nothing here changes or stops it.
 *
 * Everything in /proc that the target can influence (its names, its links) is
 * data from somebody else: lengths are bounded, text is never trusted.
 */
#ifndef PROCESS_PROC_H
#define PROCESS_PROC_H

#include "base/err.h"
#include "process/thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A handle that keeps meaning the same process: a pidfd and the start time
 * guard against the pid being used again (pidfd_open(2)).
 */
struct proc {
	pid_t pid;
	pid_t mm_pid; /* whose memory and files to look at: pid, or another of its threads when the
		       * first one has ended: such a "zombie leader" has none any more */
	int pidfd;
	uint64_t start_time;  /* clock ticks since boot, field 22 of stat */
	uint64_t start_stack; /* where the program's stack began, field 28; 0 if we may not know */
	struct proc_status status; /* as of proc_open() or proc_refresh() */
};

/*
 * ERR_NOPROC when there is no such process, or it is a zombie whose threads are all gone;
 * ERR_USAGE when `pid` is a thread of another process (the message names it).
 * proc_close() accepts a zeroed or a closed handle.
 */
int proc_open(struct proc *p, pid_t pid, struct err *err) __must_check;
/* The same, of the process with this start time (0: any). ERR_NOPROC where it has ended. */
int proc_open_at(struct proc *p, pid_t pid, uint64_t start_time, struct err *err) __must_check;
void proc_close(struct proc *p);

/* Read the status again. ERR_LOST when the process ended or is another one now. */
int proc_refresh(struct proc *p, struct err *err) __must_check;

/* For qsort(3) and bsearch(3): two pid_t, ascending. */
int proc_by_pid(const void *a, const void *b);

/* True while the very process of proc_open() exists (a zombie does not count). */
bool proc_alive(const struct proc *p);

/*
 * Did it call execve(2) since proc_open() or proc_refresh()? By where its stack begins, which is
 * drawn by lot for each program (ASLR); false where that is switched off. Nothing of its memory is
 * read: it may never answer.
 */
bool proc_replaced(const struct proc *p);

/*
 * Has it ended, or was it killed and only has to come to its end? Its files and locks may still be
 * there. By /proc/PID/stat, field 9 (proc_pid_stat(5)), and pending signals. False if not known.
 */
bool proc_is_dying(pid_t pid);

/*
 * Read the target's memory: all of `len` or ERR_FAILED. By process_vm_readv(2); a confined process
 * (sandbox/confined.h) reads /proc/PID/mem, of which it keeps one descriptor until
 * proc_read_forget().
 */
int proc_read(pid_t pid, uint64_t addr, void *buf, size_t len, struct err *err) __must_check;
void proc_read_forget(void);

/* A NUL-terminated string of at most size-1 bytes; longer ones are cut. */
int proc_read_string(pid_t pid, uint64_t addr, char *buf, size_t size, struct err *err)
	__must_check;

/*
 * One variable of the target's initial environment (/proc/PID/environ), or
 * -1 with ERR_FAILED when it is not set or cannot be read.
 */
int proc_getenv(pid_t pid, const char *name, char *buf, size_t size, struct err *err) __must_check;

/* The file the process runs, as it names it (readlink of /proc/PID/exe). */
int proc_exe(pid_t pid, char *buf, size_t size, struct err *err) __must_check;

/* The control groups it is in, lines of cgroups(7), cut to size - 1 bytes; "" if unreadable. */
#define PROC_CGROUP_SIZE 8192
void proc_cgroup(pid_t pid, char *buf, size_t size);

/* A value of its auxiliary vector (getauxval(3)); false when it has none, or cannot be read. */
bool proc_auxval(pid_t pid, uint64_t type, uint64_t *value);

/*
 * A number for the program that the process runs: another one after each
 * execve(2), which changes neither pid nor start time. 0 when it cannot be told.
 */
uint64_t proc_program(pid_t pid);

/* Is it another program now than `program`? What cannot be told, then or now, is not. */
bool proc_program_changed(pid_t pid, uint64_t program);

#endif
