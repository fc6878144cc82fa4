// SPDX-License-Identifier: Apache-2.0
/*
 * Commands on several processes: those named by pid, and those that match --comm, --cgroup and
 * --children and use jemalloc. A failure in one is reported, and does not affect the others.
 *
 * With --json the output is an array whenever the line may select several, however many there are:
 * for each process, the document printed for a single one, or {"pid", "comm", "error"}.
 */
#ifndef CLI_SEVERAL_H
#define CLI_SEVERAL_H

#include "cli/args.h"

#include <stdbool.h>
#include <stddef.h>

struct target {
	struct ops_match match; /* start_time 0: not found */
	bool named;		/* by its pid: it must exist */
};

struct several {
	const struct args *args;
	const struct command *command;
	struct target *v; /* no duplicates */
	size_t n;
};

/* Does the line name more than one process, or a filter? */
bool several_meant(const struct args *args);

/*
 * Find the selected processes, for this command (NULL: if none of the functions below is to run
 * it). The caller releases `out` with several_fini(), even if this fails.
 */
int several_find(const struct args *args, const struct command *command, struct several *out,
		 struct err *err) __must_check;
void several_fini(const struct several *several);

/* Find them, and have the command work on them by its run_several(). */
int several_run(const struct command *command, const struct args *args, struct err *err)
	__must_check;

/* For commands that do one thing for several processes: all that are selected, maybe none. */
int several_pids(const struct args *args, pid_t pids[PIDS_MAX], size_t *n, struct err *err)
	__must_check;

/* A run_several() that calls run() for one process after the other. */
int several_each(const struct several *several, struct err *err) __must_check;

/*
 * The same for long operations: for all at once, each in its own child. SIGINT, SIGTERM and SIGHUP
 * end all of them by their stop_fd, and a second signal ends what they do after that. If this
 * process is killed, they end in the same way.
 */
int several_at_once(const struct several *several, struct err *err) __must_check;

/*
 * For a run() started by several_at_once(), when it has released its target and is about to read
 * profiles: waits for its turn, and lets a second signal end it. Does nothing otherwise.
 */
void several_report_turn(const struct args *args);

/* --- for commands with a loop of their own --- */

/* The command line for one of them. */
void several_args(const struct several *several, const struct target *t, struct args *one);

/*
 * run() for one of them, with its error reported. Returns its exit status, or SEVERAL_ENDED if the
 * process no longer existed and was not named by its pid.
 */
#define SEVERAL_ENDED 64
int several_one(const struct several *several, const struct target *t, const struct args *one);

/* Report its error. Returns as several_one(). */
int several_failed(const struct several *several, const struct target *t, const struct err *why);

/* The results so far. */
struct tally {
	size_t n, failed;
	int status;	/* exit status of those that failed; 1 if they differ */
	char list[256]; /* which failed, and why */
};
void several_count(struct tally *tally, const struct target *t, int status);

/* Report what failed. Returns the exit status for all. */
int several_sum(const struct several *several, const struct tally *tally);

/* Print the brackets around an array, and before each process its comma or heading. */
int several_begin(const struct several *several, struct err *err) __must_check;
int several_next(const struct several *several, const struct target *t, const struct tally *tally,
		 struct err *err) __must_check;
int several_end(const struct several *several, struct err *err) __must_check;

#endif
