// SPDX-License-Identifier: Apache-2.0
/* A thread, or the first one of a process, as seen in /proc. Nothing here changes or stops it. */
#ifndef PROCESS_THREAD_H
#define PROCESS_THREAD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_COMM_SIZE 64 /* TASK_COMM_LEN is 16; kernel threads show up to 64 */

/* From /proc/PID/status and similar files (proc_pid_status(5)). */
struct proc_status {
	char comm[PROC_COMM_SIZE];	      /* raw bytes, see output_safe() before printing */
	char state;			      /* R S D T t Z X */
	pid_t tgid, ppid, tracer_pid, ns_pid; /* ns_pid: in the target's own namespace */
	uid_t uid, euid;
	uint32_t uids[3], gids[3]; /* real, effective, saved */
	uint64_t cap_permitted;	   /* CapPrm */
	unsigned int threads;
	unsigned int seccomp; /* 0 none, 1 strict, 2 filter */
	unsigned int filters; /* number of filters; 0 before Linux 5.9, where it is unknown */
	bool no_new_privs;
	bool shadow_stack;	 /* a shadow stack guards its return addresses */
	uint64_t sig_blocked;	 /* SigBlk */
	uint64_t sig_pending;	 /* SigPnd: this thread's own */
	uint64_t shared_pending; /* ShdPnd */
	uint64_t rss_bytes;	 /* VmRSS; 0 for kernel threads and processes that are exiting */
	uint64_t rss_anon_bytes; /* RssAnon, since Linux 4.5 */
	uint64_t switches;	 /* voluntary_ctxt_switches: how often the thread has blocked */
};

/* False if `text` lacks State or Tgid. Other missing lines result in zeros. */
bool proc_status_parse(struct proc_status *st, const char *text);

/* Status of one thread. ERR_LOST if it has ended. */
int proc_thread_status(pid_t pid, pid_t tid, struct proc_status *st, struct err *err) __must_check;

/*
 * The same in two steps, for time-critical callers: open returns a descriptor or
 * -1; read, once, the status at that moment.
 */
int proc_thread_status_open(pid_t pid, pid_t tid);
int proc_thread_status_read(int fd, struct proc_status *st, struct err *err) __must_check;

/* All thread ids, ascending, in a malloc()ed array that the caller frees. */
int proc_threads(pid_t pid, pid_t **tids, size_t *n, struct err *err) __must_check;

/* Where a thread is, from /proc/PID/task/TID/syscall, without stopping it. */
struct proc_syscall {
	bool running; /* on a CPU: the rest is unknown */
	long nr;      /* system call number, -1 if blocked outside of one */
	uint64_t args[6];
	uint64_t sp, pc;
};
int proc_thread_syscall(pid_t pid, pid_t tid, struct proc_syscall *sc, struct err *err)
	__must_check;

/*
 * When a thread last ran, by the clock of its CPU: for a sleeping thread, when it went to sleep.
 * Each CPU has its own clock, which excludes time stolen by a hypervisor. False if the kernel does
 * not provide it (/proc/PID/task/TID/sched needs CONFIG_SCHED_DEBUG).
 */
struct proc_ran {
	uint64_t ns;
	int cpu;
};
bool proc_thread_ran(pid_t pid, pid_t tid, struct proc_ran *ran);

#endif
