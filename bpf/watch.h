// SPDX-License-Identifier: Apache-2.0
/*
 * The interface of `watch`: dumps of any process, as seen by the kernel.
 *
 * Effect on processes: for a probed file, the kernel puts a breakpoint into each mapping of its
 * code (in a private copy of the page; the file is unchanged), and removes it on watch_close() or
 * when we exit in any way. A process that hit one keeps a mapping "[uprobes]" of one page.
 */
#ifndef BPF_WATCH_H
#define BPF_WATCH_H

#include "base/err.h"
#include "bpf/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct watch;

struct watch_options {
	bool all;    /* every process, and report those that start later */
	bool stacks; /* include the stacks of threads that begin a dump */
};

/* Callbacks of watch_read(). A record is valid during the call. */
struct watch_handlers {
	void (*dump)(void *ctx, const struct watch_dump *dump);
	void (*begin)(void *ctx, const struct watch_begin *begin); /* precedes its dump; may be
								    * missing */
	void (*process)(void *ctx, pid_t pid); /* it runs code not examined yet */
	void *ctx;
};

/*
 * Load the program and start to listen. ERR_PERM without the privileges, and ERR_FAILED if this
 * kernel or build does not support it, both with a fix.
 */
int watch_open(struct watch **out, const struct watch_options *options,
	       const struct watch_handlers *handlers, struct err *err) __must_check;
void watch_close(struct watch *w);

/* Without watch_options.all: report the dumps of this process. */
int watch_add_process(struct watch *w, pid_t pid, struct err *err) __must_check;

/*
 * Probe prof_dump in the file behind `handle` (open(2), O_PATH), at `offset` in the file: for every
 * process that maps it, now or later. ERR_FAILED if that could block the kernel (bpf/origin.h).
 */
int watch_add_file(struct watch *w, int handle, uint64_t offset, enum watch_convention c,
		   struct err *err) __must_check;

/* This process has no prof_dump that can be probed: detect its dumps by its system calls. */
int watch_add_unprobed(struct watch *w, pid_t pid, struct err *err) __must_check;

/* This file was examined: processes that run its code need not be reported. */
void watch_know_file(struct watch *w, uint32_t dev_major, uint32_t dev_minor, uint64_t inode);

/*
 * Can returns be probed safely? Since Linux 6.11 that uses a system call, for which seccomp filters
 * could kill a process before 6.14 and an update of 6.12. The first call tests it on a child of our
 * own (bpf/trial.h); if that is not possible, the kernel version decides (6.12.20 has the update
 * for sure).
 */
bool watch_may_probe(void);

/*
 * Descriptors that are readable when there are records, of begins or of anything else. Not owned by
 * the caller.
 */
int watch_fd(const struct watch *w);
int watch_begins_fd(const struct watch *w);

/* Pass the available records to the callbacks. */
int watch_read(struct watch *w, struct err *err) __must_check;

/* Number of events lost so far because the ring buffer was full. */
uint64_t watch_lost(const struct watch *w);

#endif
