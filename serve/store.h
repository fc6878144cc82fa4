// SPDX-License-Identifier: Apache-2.0
/*
 * Private to serve/: the results that are kept. Each run has a folder of its own, named by its
 * number, which is the time when it began, in seconds, or more:
 *
 *	run.json           what it is, and how it ended (api/run.h)
 *	profile.heap       at its end; and what it has more than this is what happened meanwhile:
 *	profile.base.heap  at its beginning
 *	profile.raw, profile.base.raw  the same, with names
 *
 * Each file is there whole or not at all. There is no index that could be wrong. While a run goes
 * on, who does it has a lock on its folder (flock(2)): one that says it is running and has none was
 * killed. The folder of all is the user's alone, and of one service at a time.
 */
#ifndef SERVE_STORE_H
#define SERVE_STORE_H

#include "base/json.h"
#include "ops/ops.h"

#include <limits.h>

#define STORE_MAX 10000 /* that are seen */

struct store {
	char path[PATH_MAX]; /* absolute; "": nothing is kept */
	int dir;
	_Atomic uint64_t *last; /* number, of all our processes */
	unsigned int keep;
	uint64_t max_bytes;
};
#define STORE_INIT        \
	{                 \
		.dir = -1 \
	}

/*
 * Open the folder, and make it first where it is not there. `path`: NULL is
 * /var/lib/jeprof-ctl/runs of root, of others jeprof-ctl/runs below XDG_STATE_HOME or
 * ~/.local/state. ERR_BUSY while another service has it; ERR_OUTPUT where it cannot be made;
 * ERR_PERM where others may write to it.
 */
int store_open(struct store *r, const char *path, struct err *err) __must_check;
void store_close(struct store *r);

/* The number of a new one, whichever process asks. */
uint64_t store_next(const struct store *r);

/* --- in the process of an operation --- */

struct run {
	char path[PATH_MAX]; /* of its folder */
	int dir;	     /* the same, locked */
};
#define RUN_INIT          \
	{                 \
		.dir = -1 \
	}

int run_begin(const struct store *r, uint64_t id, struct run *run, struct err *err) __must_check;
/* The same, of the next number that nobody has; *id is that. */
int run_begin_next(const struct store *r, uint64_t *id, struct run *run, struct err *err)
	__must_check;
int run_write(const struct run *run, struct json_object *doc, struct err *err) __must_check;
/* It did not begin: nothing of it stays. */
void run_drop(struct run *run);
void run_close(struct run *run);

/* The path of one of its files. Returns `buf`. */
const char *run_file(const struct run *run, const char *name, char buf[PATH_MAX]);

/* Its document, as it is now. ERROR_NO_RUN. */
int store_load(const struct store *r, uint64_t id, struct json_object **doc, struct err *err)
	__must_check;

/* All of them, the newest first, or those of one process: an array. */
int store_list(const struct store *r, pid_t pid, struct json_object **all, struct err *err)
	__must_check;

/* The one of this process that is running, but for `but`; 0: none. */
uint64_t store_find(const struct store *r, pid_t pid, uint64_t but);

/* A file of it, for reading; `names`: with names, if there is one. ERROR_NO_RUN_PROFILE. */
int store_open_profile(const struct store *r, uint64_t id, bool base, bool names, int *fd,
		       struct err *err) __must_check;

/* ERR_BUSY while it is running. */
int store_remove(const struct store *r, uint64_t id, struct err *err) __must_check;

/* Remove the oldest while there are more than r->keep, or than r->max_bytes. The newest stays. */
void store_retain(const struct store *r);

/*
 * Put back what those changed that were killed, and say that they were. Fails with why one could
 * not be, which is as it was then, and to be tried again.
 */
int store_repair(const struct store *r, const struct ops_options *options, struct err *err)
	__must_check;

#endif
