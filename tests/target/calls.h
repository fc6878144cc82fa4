// SPDX-License-Identifier: Apache-2.0
/*
 * calls BOARD CASE: block in one system call, again and again, and report how each returned.
 * `calls list` prints the cases. tests/drivers/calls-matrix drives it through the board, whose
 * words follow struct board's own (tests/drivers/act.py has the same layout).
 *
 * A round: the driver sets `go`; a helper process, forked for this round, prepares whatever the
 * other side has to prepare (takes the lock, fills the pipe) and waits for the driver's `release`;
 * the victim makes the call. Cases that end by themselves have no helper.
 */
#ifndef TESTS_TARGET_CALLS_H
#define TESTS_TARGET_CALLS_H

#include "tests/target/victim.h"

#include <stdbool.h>
#include <time.h>

#define CALL_MS 2000 /* of calls with a timeout */

struct round {
	uint64_t go, release; /* written by the driver: round numbers */
	uint64_t begun, back; /* written by the victim: before the call, and after it */
	uint64_t done;	      /* ... and when the helper has ended as well */
	uint64_t began_ns;    /* CLOCK_MONOTONIC */
	uint64_t elapsed_ns;
	uint64_t ret, error; /* the call's result; error is 0 unless ret is -1 */
	uint64_t remains_ns; /* the remaining time if the call returns it; otherwise ~0 */
	uint64_t intact;     /* the data is what the helper sent, one signal came, ... */
	uint64_t held;	     /* written by the helper: the round that it has prepared */
};
extern struct round *now;

enum kind {
	UNTIMED, /* ends when the helper makes it return */
	TIMED,	 /* resumes with the remaining time */
	ANEW,	 /* has a timeout, and after a stop the kernel restarts it in full */
	NEVER,	 /* must not be stopped */
};

struct call_case {
	const char *name;
	long nr; /* as /proc/PID/syscall shows it */
	enum kind kind;
	long ret;
	int error;
	bool (*call)(struct call_case *c); /* sets now->ret and error; true: all intact */
	bool (*set_up)(void);		   /* once */
	bool (*prepare)(void);		   /* each round, in the victim, before the fork */
	bool (*hold)(void);		   /* each round, in the helper, before the call */
	bool (*release)(void);		   /* each round, in the helper */
	bool shows_eintr;		   /* EINTR is visible unless the stop is hidden */
};

/* calls_files.c, ...; each ends with a case without a name */
extern struct call_case calls_of_files[], calls_of_sockets[], calls_of_waits[], calls_of_others[];

/* Record a call's result; to be called before errno changes. */
void answer(long ret);
/* This round's data: never the same twice. */
uint64_t token(void);
/* For the helper: the victim's pid. */
extern pid_t victim;

/* Shared by the cases: the victim works on `mine`, the helper on `theirs`. */
extern int mine, theirs;
extern uint64_t got; /* what the victim has read */
bool arrived(long ret);
bool send_token(void);
bool clear(void);
bool set_up_pipe(void);
bool signal_victim(void);

/* A timeout of CALL_MS: relative, or absolute on `clock`. */
struct timespec in_time(void);
struct timespec at_time(clockid_t clock);

#endif
