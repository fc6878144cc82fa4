// SPDX-License-Identifier: Apache-2.0
/*
 * A process, examined from outside. Nothing here changes or stops it.
 *
 * Everything in /proc that the target can influence (names, links) is untrusted:
 * lengths are bounded, text is never relied on.
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
 * A handle that always refers to the same process: a pidfd and the start time
 * guard against reuse of the pid (pidfd_open(2)).
 */
struct proc {
	pid_t pid;
	pid_t mm_pid; /* for its memory and files: pid, or another thread if the first one has
		       * ended, since such a "zombie leader" has neither */
	int pidfd;
	uint64_t start_time;  /* clock ticks since boot, field 22 of stat */
	uint64_t start_stack; /* start of the program's stack, field 28; 0 without permission */
	struct proc_status status; /* as of proc_open() or proc_refresh() */
};

/*
 * ERR_NOPROC if there is no such process, or it is a zombie without other threads; ERR_USAGE if
 * `pid` is a thread of another process (the message names it).
 * proc_close() accepts a zeroed or a closed handle.
 */
int proc_open(struct proc *p, pid_t pid, struct err *err) __must_check;
/* The same for the process with this start time (0: any). ERR_NOPROC if it has ended. */
int proc_open_at(struct proc *p, pid_t pid, uint64_t start_time, struct err *err) __must_check;
void proc_close(struct proc *p);

/* Read the status again. ERR_LOST if the process ended, or the pid was reused. */
int proc_refresh(struct proc *p, struct err *err) __must_check;

/* For qsort(3) and bsearch(3): two pid_t, ascending. */
int proc_by_pid(const void *a, const void *b);

/* True while the process of proc_open() exists (zombies do not count). */
bool proc_alive(const struct proc *p);

/*
 * Did it call execve(2) since proc_open() or proc_refresh()? Judged by the start of its stack,
 * which is random for each program (ASLR); always false if that is disabled. Its memory is not
 * read, since such a read may block forever.
 */
bool proc_replaced(const struct proc *p);

/*
 * Has it ended, or was it killed and is about to exit? Its files and locks may still exist. Judged
 * by /proc/PID/stat, field 9 (proc_pid_stat(5)), and pending signals. False if unknown.
 */
bool proc_is_dying(pid_t pid);

/*
 * Read the target's memory: all of `len` or ERR_FAILED. Uses process_vm_readv(2); a confined
 * process (sandbox/confined.h) uses /proc/PID/mem, and keeps one descriptor of it until
 * proc_read_forget().
 */
int proc_read(pid_t pid, uint64_t addr, void *buf, size_t len, struct err *err) __must_check;
void proc_read_forget(void);

/* A NUL-terminated string of at most size-1 bytes; longer ones are truncated. */
int proc_read_string(pid_t pid, uint64_t addr, char *buf, size_t size, struct err *err)
	__must_check;

/*
 * A variable of the target's initial environment (/proc/PID/environ);
 * ERR_FAILED if it is not set or cannot be read.
 */
int proc_getenv(pid_t pid, const char *name, char *buf, size_t size, struct err *err) __must_check;

/* The program file, as the process names it (readlink of /proc/PID/exe). */
int proc_exe(pid_t pid, char *buf, size_t size, struct err *err) __must_check;

/* Its control groups, lines of cgroups(7), truncated to size - 1 bytes; "" if unreadable. */
#define PROC_CGROUP_SIZE 8192
void proc_cgroup(pid_t pid, char *buf, size_t size);

/* A value of its auxiliary vector (getauxval(3)); false if missing or unreadable. */
bool proc_auxval(pid_t pid, uint64_t type, uint64_t *value);

/*
 * A number for the program that the process runs. It changes with each
 * execve(2), which changes neither pid nor start time. 0 if unknown.
 */
uint64_t proc_program(pid_t pid);

/* Does it run a program other than `program`? False if either is unknown. */
bool proc_program_changed(pid_t pid, uint64_t program);

#endif
