// SPDX-License-Identifier: Apache-2.0
/*
 * Private to the watch: which files to probe. Each file with code is read once, when the first
 * process has it mapped. A process whose files are not sufficient is inspected itself, and its
 * dumps are seen by its system calls alone: a breakpoint is placed only where the file itself says
 * that it belongs.
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

/* A process that is to be inspected (again): it may not have mapped its libraries yet. */
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
	err_warn_fn *on_warning;
	void *ctx;
	struct filecache files; /* each with its state, see find.c */
	struct watch_looker looker;
	struct watch_visit visits[WATCH_VISITS_MAX];
	size_t n_visits;
	size_t processes;  /* how many were found that can dump */
	size_t unreadable; /* how many could not be inspected for lack of rights */
};

/*
 * Inspect a process that was requested: ERR_NOPROC, ERR_NOJEMALLOC, or ERR_NOPROF if profiling
 * cannot be turned on, each with its fix.
 */
int watch_find_one(struct watch_finder *f, pid_t pid, struct err *err) __must_check;

/* Inspect all processes that run now. */
int watch_find_all(struct watch_finder *f, struct err *err) __must_check;

/* The process runs something new. */
void watch_find_later(struct watch_finder *f, pid_t pid);

/* Make the visits that are due; *next_ms is set to the time until the next one, -1 for none. */
void watch_find_due(struct watch_finder *f, int *next_ms);

void watch_find_fini(struct watch_finder *f);

#endif
