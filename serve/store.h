// SPDX-License-Identifier: Apache-2.0
/*
 * Private to serve/: the kept runs. Each has a folder named by its number, which is its start time
 * in seconds since 1970, or more:
 *
 *	run.json           its facts: what it is, and how it ended (api/run.h)
 *	profile.heap       the profile of its end
 *	profile.base.heap  the profile of its beginning; the difference is the growth meanwhile
 *	profile.raw, profile.base.raw  the same, symbolized
 *
 * Files are written atomically. There is no index that could be inconsistent. The process that does
 * a run holds a lock on its folder (flock(2)): a run that is running by its facts but not locked
 * was killed. The folder of runs is private to the user, and used by one service at a time.
 */
#ifndef SERVE_STORE_H
#define SERVE_STORE_H

#include "base/json.h"
#include "ops/ops.h"

#include <limits.h>

#define STORE_MAX 10000 /* runs; more are ignored */

struct store {
	char path[PATH_MAX]; /* absolute; "": no runs are kept */
	int dir;
	_Atomic uint64_t *last; /* the last number, in memory shared by all our processes */
	unsigned int keep;
	uint64_t max_bytes;
};
#define STORE_INIT        \
	{                 \
		.dir = -1 \
	}

/*
 * Open the folder; create it if it is missing. `path` NULL: /var/lib/jeprof-ctl/runs for root, for
 * other users jeprof-ctl/runs below XDG_STATE_HOME or ~/.local/state. ERR_BUSY: another service is
 * using it; ERR_OUTPUT: it cannot be created; ERR_PERM: other users may write to it.
 */
int store_open(struct store *r, const char *path, struct err *err) __must_check;
void store_close(struct store *r);

/* The number for a new run, unique across processes. */
uint64_t store_next(const struct store *r);

/* --- in the subprocess of an operation --- */

struct run {
	char path[PATH_MAX]; /* its folder */
	int dir;	     /* its folder, locked */
};
#define RUN_INIT          \
	{                 \
		.dir = -1 \
	}

int run_begin(const struct store *r, uint64_t id, struct run *run, struct err *err) __must_check;
/* The same with the next unused number, which *id is set to. */
int run_begin_next(const struct store *r, uint64_t *id, struct run *run, struct err *err)
	__must_check;
int run_write(const struct run *run, struct json_object *doc, struct err *err) __must_check;
/* Remove a run that did not begin. */
void run_drop(struct run *run);
void run_close(struct run *run);

/* The path of a file of the run. Returns `buf`. */
const char *run_file(const struct run *run, const char *name, char buf[PATH_MAX]);

/* Its current facts. ERROR_NO_RUN. */
int store_load(const struct store *r, uint64_t id, struct json_object **doc, struct err *err)
	__must_check;

/* An array of all runs, or those of one process; the newest first. */
int store_list(const struct store *r, pid_t pid, struct json_object **all, struct err *err)
	__must_check;

/* The running run of this process other than `but`; 0: none. */
uint64_t store_find(const struct store *r, pid_t pid, uint64_t but);

/* Open a profile of the run; `names`: the symbolized one, if it exists. ERROR_NO_RUN_PROFILE. */
int store_open_profile(const struct store *r, uint64_t id, bool base, bool names, int *fd,
		       struct err *err) __must_check;

/* ERR_BUSY while it is running. */
int store_remove(const struct store *r, uint64_t id, struct err *err) __must_check;

/* Remove the oldest runs beyond r->keep or r->max_bytes. The newest is kept in any case. */
void store_retain(const struct store *r);

/*
 * Restore the processes of killed runs, and mark these as interrupted. Fails with the error of one
 * that could not be restored, which is left for the next attempt.
 */
int store_repair(const struct store *r, const struct ops_options *options, struct err *err)
	__must_check;

#endif
