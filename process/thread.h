// SPDX-License-Identifier: Apache-2.0
/* A thread, or the first one of a process, as /proc shows it. Nothing here changes or stops it. */
#ifndef PROCESS_THREAD_H
#define PROCESS_THREAD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_COMM_SIZE 64 /* TASK_COMM_LEN is 16; kernel threads show up to 64 */

/* What /proc/PID/status and its neighbours say (proc_pid_status(5)). */
struct proc_status {
	char comm[PROC_COMM_SIZE];	      /* raw bytes, see output_safe() before printing */
	char state;			      /* R S D T t Z X */
	pid_t tgid, ppid, tracer_pid, ns_pid; /* ns_pid: in the target's own namespace */
	uid_t uid, euid;
	uint32_t uids[3], gids[3]; /* real, effective, saved */
	uint64_t cap_permitted;	   /* CapPrm */
	unsigned int threads;
	unsigned int seccomp; /* 0 none, 1 strict, 2 filter */
	unsigned int filters; /* how many of these; 0 before Linux 5.9, which does not say */
	bool no_new_privs;
	bool shadow_stack;	 /* its calls return by addresses that are kept twice */
	uint64_t sig_blocked;	 /* SigBlk */
	uint64_t sig_pending;	 /* SigPnd: this thread's own */
	uint64_t shared_pending; /* ShdPnd */
	uint64_t rss_bytes; /* VmRSS; 0 of a kernel thread, and of a process that is just ending */
	uint64_t rss_anon_bytes; /* RssAnon, since Linux 4.5 */
	uint64_t switches;	 /* voluntary_ctxt_switches: how often this thread went to sleep */
};

/* False when `text` holds no State and Tgid. Lines that are missing leave zeros. */
bool proc_status_parse(struct proc_status *st, const char *text);

/* Status of one thread. ERR_LOST when it is gone. */
int proc_thread_status(pid_t pid, pid_t tid, struct proc_status *st, struct err *err) __must_check;

/*
 * The same in two steps, for who has no time in between: open, a descriptor or
 * -1, and read, once, what it says at that moment.
 */
int proc_thread_status_open(pid_t pid, pid_t tid);
int proc_thread_status_read(int fd, struct proc_status *st, struct err *err) __must_check;

/* All thread ids, ascending, in a malloc()ed array that the caller frees. */
int proc_threads(pid_t pid, pid_t **tids, size_t *n, struct err *err) __must_check;

/* Where a thread is, from /proc/PID/task/TID/syscall, without stopping it. */
struct proc_syscall {
	bool running; /* on a CPU: nothing else is known */
	long nr;      /* system call number, -1 when blocked outside one */
	uint64_t args[6];
	uint64_t sp, pc;
};
int proc_thread_syscall(pid_t pid, pid_t tid, struct proc_syscall *sc, struct err *err)
	__must_check;

/*
 * When a thread ran last, by the clock of the CPU that it ran on: of a thread that sleeps, when it
 * went to sleep. Each CPU has a clock of its own, which leaves out what a hypervisor took from it.
 * False where the kernel does not say (/proc/PID/task/TID/sched wants CONFIG_SCHED_DEBUG).
 */
struct proc_ran {
	uint64_t ns;
	int cpu;
};
bool proc_thread_ran(pid_t pid, pid_t tid, struct proc_ran *ran);

#endif
