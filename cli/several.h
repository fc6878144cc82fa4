// SPDX-License-Identifier: Apache-2.0
/*
 * Commands on several processes: those that the line names by pid, and those that match its
 * --comm, --cgroup and --children and use jemalloc. What fails in one is told, and fails no other.
 *
 * With --json it is an array whenever the line may mean several, however many there are: of each
 * process the document that the command prints for one, or {"pid", "comm", "error"}.
 */
#ifndef CLI_SEVERAL_H
#define CLI_SEVERAL_H

#include "cli/args.h"

#include <stdbool.h>
#include <stddef.h>

struct target {
	struct ops_match match; /* start_time 0: it was not there */
	bool named;		/* by its pid: it must be there */
};

struct several {
	const struct args *args;
	const struct command *command;
	struct target *v; /* each once */
	size_t n;
};

/* Does the line name more than one process, or how to find them? */
bool several_meant(const struct args *args);

/*
 * Those that are meant, for this command (NULL: none of the functions below that run it is used).
 * The caller ends `out` with several_fini(), also when this fails.
 */
int several_find(const struct args *args, const struct command *command, struct several *out,
		 struct err *err) __must_check;
void several_fini(const struct several *several);

/* Find them, and have the command work on them by its run_several(). */
int several_run(const struct command *command, const struct args *args, struct err *err)
	__must_check;

/* For commands that do one thing for several: all that are meant; 0 if none is. */
int several_pids(const struct args *args, pid_t pids[PIDS_MAX], size_t *n, struct err *err)
	__must_check;

/* A run_several(): run() for one after the other. */
int several_each(const struct several *several, struct err *err) __must_check;

/*
 * The same for what takes its time: for all of them at once, each in a child of its own. SIGINT,
 * SIGTERM and SIGHUP end all by their stop_fd, and a second one what they do after that; if this
 * process is killed, they end likewise.
 */
int several_at_once(const struct several *several, struct err *err) __must_check;

/*
 * For a run() that several_at_once() has begun, when it leaves its target alone and is about to
 * read profiles: one does so at a time, and from now on a second signal ends it. Else nothing.
 */
void several_report_turn(const struct args *args);

/* --- for those that have a way of their own --- */

/* The command line for one of them. */
void several_args(const struct several *several, const struct target *t, struct args *one);

/*
 * run() for one of them; its error is told. Returns its exit status, or SEVERAL_ENDED where it was
 * not there any more, and is none of those that were named.
 */
#define SEVERAL_ENDED 64
int several_one(const struct several *several, const struct target *t, const struct args *one);

/* Tell of its error. Returns as several_one(). */
int several_failed(const struct several *several, const struct target *t, const struct err *why);

/* What became of all. */
struct tally {
	size_t n, failed;
	int status;	/* that of those that failed; 1 where they differ */
	char list[256]; /* who failed, and why */
};
void several_count(struct tally *tally, const struct target *t, int status);

/* Say what failed. Returns the exit status of all. */
int several_sum(const struct several *several, const struct tally *tally);

/* Around the documents of an array, and in front of what is printed for one: its heading. */
int several_begin(const struct several *several, struct err *err) __must_check;
int several_next(const struct several *several, const struct target *t, const struct tally *tally,
		 struct err *err) __must_check;
int several_end(const struct several *several, struct err *err) __must_check;

#endif
