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
	bool shadow_stack;	 /* x86_Thread_features has shstk; since Linux 6.6 */
	uint64_t sig_blocked;	 /* SigBlk */
	uint64_t sig_pending;	 /* SigPnd: this thread's own */
	uint64_t shared_pending; /* ShdPnd */
	uint64_t rss_bytes; /* VmRSS; 0 of a kernel thread, and of a process that is just ending */
	uint64_t switches;  /* voluntary_ctxt_switches: how often this thread went to sleep */
};

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
void proc_close(struct proc *p);

/* Read the status again. ERR_LOST when the process ended or is another one now. */
int proc_refresh(struct proc *p, struct err *err) __must_check;

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

/* Is its control group frozen? Its state does not show that, and no stop of ours would come. */
bool proc_frozen(pid_t pid);

/* A value of its auxiliary vector (getauxval(3)); false when it has none, or cannot be read. */
bool proc_auxval(pid_t pid, uint64_t type, uint64_t *value);

/*
 * A number for the program that the process runs: another one after each
 * execve(2), which changes neither pid nor start time. 0 when it cannot be told.
 */
uint64_t proc_program(pid_t pid);

/* What decides about ptrace(2) beside the uids; -1 is unknown. */
struct proc_rights {
	int yama_scope;	  /* kernel.yama.ptrace_scope; -1: there is no Yama */
	bool capable;	  /* do we hold CAP_SYS_PTRACE in our own user namespace? */
	int same_user_ns; /* is the target in it? */
	int sys;	  /* errno of what left same_user_ns unknown */
};
void proc_rights(const struct proc *p, struct proc_rights *rights);

/* ERR_PERM/ERR_BUSY with cause and fix when ptrace(2) would refuse `p`; touches nothing. */
int proc_may_trace(const struct proc *p, struct err *err) __must_check;

/* Private to process/: parsing proc_pid_status(5). */

/* False when `text` holds no State and Tgid. Lines that are missing leave zeros. */
bool proc_status_parse(struct proc_status *st, const char *text);

#endif
