// SPDX-License-Identifier: Apache-2.0
/*
 * Private to the watch: a command for each dump. What is known of the dump
 * stands in its environment and nowhere else, so that no name can become a
 * part of the command.
 */
#ifndef OPS_WATCH_RUN_H
#define OPS_WATCH_RUN_H

#include "ops/watch/watch.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RUNS_MAX 8 /* at once */
#define RUNS_WAITING 256

struct watch_runs {
	const char *command; /* for /bin/sh -c; or NULL, and */
	const char *program; /* by its path, or found in PATH, without arguments */
	pid_t running[RUNS_MAX];
	size_t n_running;
	char **waiting[RUNS_WAITING]; /* environments, the oldest first from `first` on */
	size_t first, n_waiting;
	uint64_t skipped; /* events that found no place to wait */
	uint64_t failed;  /* could not be started, or did not end with status 0 */
};

/* Run it for this event, or let that wait. */
void watch_run(struct watch_runs *r, const struct ops_watch_event *event);

/* Note which have ended, and start those that wait. True while any runs or waits. */
bool watch_runs_go_on(struct watch_runs *r);

/* Forget those that wait; those that run go on without us. */
void watch_runs_fini(struct watch_runs *r);

#endif
