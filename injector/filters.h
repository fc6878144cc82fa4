// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a thread's seccomp filters.
 *
 * The kernel shows them to a tracer that has CAP_SYS_ADMIN and no filter itself
 * (PTRACE_SECCOMP_GET_FILTER; kernel/seccomp.c, seccomp_get_filter()). But the tracer, which reads
 * the target's memory, runs under a filter of its own from the start. So a child of the tracer, the
 * reader, reads them. It stops a thread, copies its registers and filters, and releases it. It has
 * no descriptor of the target's memory, and does not interpret the filters: the tracer does.
 *
 * Filters can be added, but neither changed nor removed. So the filters of a thread are unchanged
 * as long as their number is (Seccomp_filters in its status, Linux 5.9).
 */
#ifndef INJECTOR_FILTERS_H
#define INJECTOR_FILTERS_H

#include "injector/tracer.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

/* An interpreter of seccomp(2) filters (classic BPF). */

/*
 * Returns the action (SECCOMP_RET_*) with its data. The program is untrusted: anything that the
 * kernel would not have accepted counts as SECCOMP_RET_KILL_PROCESS.
 */
uint32_t seccomp_filter_run(const struct sock_filter *prog, size_t n,
			    const struct seccomp_data *data);

#define FILTERS_MAX 64

/* The filters of one thread; shared by the tracer and its reader. */
struct filters {
	pid_t tid;	    /* 0: none */
	unsigned int count; /* Seccomp_filters when they were read */
	bool has_rseq;	    /* the thread has registered an rseq(2) area */
	bool rests;	    /* it was in a sleep that continues by restart_syscall(2) */
	size_t n;
	unsigned int len[FILTERS_MAX]; /* instructions */
	struct sock_filter code[FILTERS_MAX][BPF_MAXINSNS];
	struct err err; /* why they could not be read */
};

/*
 * Start the reader, before the tracer confines itself. It exits with the tracer. ERR_PERM: we may
 * not read filters.
 */
int filters_open(struct tracer *t, struct err *err) __must_check;

/* Stop the reader, if there is one. */
void filters_close(struct tracer *t);

/*
 * Load the `count` filters of this thread into t->filters; unless they are there already, it is
 * stopped for a moment. While it is stopped, `allows_restart` decides whether they allow
 * restart_syscall(2); if not, an interrupted sleep is restarted from its beginning. ERR_UNSAFE: it
 * could not be stopped, or has exited; other errors are those of tracee_stop().
 */
int filters_read(struct tracer *t, pid_t tid, unsigned int count,
		 bool (*allows_restart)(const struct filters *f), struct err *err) __must_check;

/* Checks what the target's seccomp filters allow us to have it do. */

/*
 * Does this thread, or any thread if `tid` is 0, have a filter? Fails if a limit on our side
 * prevents reading that.
 */
int seccomp_present(const struct proc *p, pid_t tid, bool *present, struct err *err) __must_check;
/*
 * May this thread, which is not stopped, do what we are about to have it do, also without us should
 * we be killed? ERR_UNSAFE with t->fenced set when its filters would punish that.
 */
int seccomp_read(struct tracer *t, pid_t tid, struct err *err) __must_check;
/*
 * Would the filters read last allow an inline run: the same calls, with a dump to a file in the
 * target, or single values instead of statistics?
 */
bool seccomp_allows_inline(const struct tracer *t);
/* With the thread stopped, and t->now its status: does it have the filters that were read? */
int seccomp_check(struct tracer *t, pid_t tid, struct err *err) __must_check;
/* Likewise: do they allow restart_syscall(2)? */
bool seccomp_restarts(const struct tracer *t, pid_t tid);

#endif
