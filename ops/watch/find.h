// SPDX-License-Identifier: Apache-2.0
/*
 * Private to the watch: which files to probe. Each file with code is looked into
 * once, when the first process has it mapped. A process whose files do not tell
 * is looked at for itself, and its dumps are seen by its system calls alone: a
 * breakpoint is put where the file itself says that it belongs, nowhere else.
 */
#ifndef OPS_WATCH_FIND_H
#define OPS_WATCH_FIND_H

#include "bpf/watch.h"
#include "ops/watch/filecache.h"
#include "ops/watch/look.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A process that is to be looked at (again): it may not have mapped its libraries yet. */
struct watch_visit {
	pid_t pid;
	unsigned int tries;
	uint64_t due_ms; /* CLOCK_MONOTONIC */
};
#define WATCH_VISITS_MAX 4096

struct watch_finder {
	struct watch *watch;
	bool debuginfod;
	bool no_uprobes; /* of ops_watch_request */
	void (*note)(void *ctx, const char *line);
	void *ctx;
	struct filecache files; /* each with whether it is probed */
	struct watch_looker looker;
	struct watch_visit visits[WATCH_VISITS_MAX];
	size_t n_visits;
	size_t processes;  /* how many were found that can dump */
	size_t unreadable; /* how many could not be looked at, for want of rights */
};

/*
 * Look at a process that was asked for: ERR_NOPROC, ERR_NOJEMALLOC, or ERR_NOPROF where
 * profiling cannot be turned on, each with its fix.
 */
int watch_find_one(struct watch_finder *f, pid_t pid, struct err *err) __must_check;

/* Look at all that run now. */
int watch_find_all(struct watch_finder *f, struct err *err) __must_check;

/* This one runs something new. */
void watch_find_later(struct watch_finder *f, pid_t pid);

/* Make the visits that are due; *next_ms receives when the next one is, -1 for none. */
void watch_find_due(struct watch_finder *f, int *next_ms);

void watch_find_fini(struct watch_finder *f);

#endif
