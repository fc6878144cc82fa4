// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a thread's seccomp filters.
 *
 * The kernel shows them to a tracer that has CAP_SYS_ADMIN and no filter itself
 * (PTRACE_SECCOMP_GET_FILTER; kernel/seccomp.c, seccomp_get_filter()). But the tracer, which reads
 * the target's memory, is to be under a filter of its own from its start. So another process reads
 * them: the reader, a child of the tracer's. It stops a thread, copies what the kernel says of its
 * registers and filters, and lets it go. It has no descriptor of the target's memory, and runs no
 * filter: what they mean is worked out by the tracer.
 *
 * Filters can be added, but neither changed nor removed. So those of a thread that has as many as
 * when they were read (Seccomp_filters in its status, Linux 5.9) are the same.
 */
#ifndef INJECTOR_FILTERS_H
#define INJECTOR_FILTERS_H

#include "injector/tracer.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

/* What a seccomp filter says to a system call: seccomp(2)'s classic BPF, run here on paper. */

/*
 * The action (SECCOMP_RET_*) with its data. The program is untrusted: whatever
 * the kernel would not have accepted counts as SECCOMP_RET_KILL_PROCESS.
 */
uint32_t seccomp_filter_run(const struct sock_filter *prog, size_t n,
			    const struct seccomp_data *data);

#define FILTERS_MAX 64

/* The filters of one thread; shared by the tracer and its reader. */
struct filters {
	pid_t tid;	    /* 0: of none */
	unsigned int count; /* Seccomp_filters when they were read */
	bool has_rseq;	    /* the thread has an area for rseq(2) */
	bool rests;	    /* it was in a sleep that goes on through restart_syscall(2) */
	size_t n;
	unsigned int len[FILTERS_MAX]; /* instructions */
	struct sock_filter code[FILTERS_MAX][BPF_MAXINSNS];
	struct err err; /* why they could not be read */
};

/*
 * Start the reader, before the tracer confines itself. It ends with the tracer. ERR_PERM: we may
 * not read filters.
 */
int filters_open(struct tracer *t, struct err *err) __must_check;

/* End the reader, if there is one. */
void filters_close(struct tracer *t);

/*
 * Have t->filters be those of this thread, which has `count`; it is stopped for a moment if they
 * are not known yet. `allows_restart` is asked, while it is stopped, whether they let
 * restart_syscall(2) pass; if not, an interrupted sleep of it is made anew. ERR_UNSAFE: it could
 * not be stopped, or has ended; other errors as tracee_stop() has them.
 */
int filters_read(struct tracer *t, pid_t tid, unsigned int count,
		 bool (*allows_restart)(const struct filters *f), struct err *err) __must_check;

#endif
