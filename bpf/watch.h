// SPDX-License-Identifier: Apache-2.0
/*
 * The door of bpf/: dumps of any process, as the kernel sees them.
 *
 * Effect on processes: where a file is probed, the kernel puts a breakpoint
 * into each mapping of its code (in a copy of that page, the file stays as it
 * is), and takes it away with watch_close() or when we end, however we end. A
 * process that came by one keeps a page called "[uprobes]" among its mappings.
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
	bool all;    /* every process, and tell of those that start later */
	bool stacks; /* with the stacks of threads whose dumps begin */
};

/* What the records are handed to, in watch_read(). A record lives as long as the call. */
struct watch_handlers {
	void (*dump)(void *ctx, const struct watch_dump *dump);
	void (*begin)(void *ctx, const struct watch_begin *begin); /* before its dump; may be left
								    * out */
	void (*process)(void *ctx, pid_t pid); /* it runs code that was not looked at */
	void *ctx;
};

/*
 * Load the program and start to listen. ERR_PERM without the rights to, and
 * ERR_FAILED where this kernel or this build cannot, both with their fix.
 */
int watch_open(struct watch **out, const struct watch_options *options,
	       const struct watch_handlers *handlers, struct err *err) __must_check;
void watch_close(struct watch *w);

/* Without watch_options.all: tell of the dumps of this process. */
int watch_add_process(struct watch *w, pid_t pid, struct err *err) __must_check;

/*
 * Probe prof_dump in the file behind `handle` (open(2), O_PATH), at `offset` in
 * the file: for every process that has it mapped, or will have. ERR_FAILED where that
 * could keep the kernel waiting (bpf/origin.h).
 */
int watch_add_file(struct watch *w, int handle, uint64_t offset, enum watch_convention c,
		   struct err *err) __must_check;

/* This process has no prof_dump that could be probed: tell of its dumps by its system calls. */
int watch_add_unprobed(struct watch *w, pid_t pid, struct err *err) __must_check;

/* Code of this file was looked at: processes that run it need not be reported. */
void watch_know_file(struct watch *w, uint32_t dev_major, uint32_t dev_minor, uint64_t inode);

/*
 * Can returns be probed without danger? Linux 6.11 made a system call of it,
 * and seccomp's filters could end a process for that until 6.14 and an update
 * of 6.12. It is tried at the first call, on a child of our own (bpf/trial.h);
 * where that is not possible the version tells (6.12.20 has the update for sure).
 */
bool watch_may_probe(void);

/* Descriptors that are readable when there are records, of begins or of all else. Ours. */
int watch_fd(const struct watch *w);
int watch_begins_fd(const struct watch *w);

/* Hand over the records that are there. */
int watch_read(struct watch *w, struct err *err) __must_check;

/* How many events were lost so far, because the ring buffer was full. */
uint64_t watch_lost(const struct watch *w);

#endif
