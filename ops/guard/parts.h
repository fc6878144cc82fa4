// SPDX-License-Identifier: Apache-2.0
/* Private to ops/guard/: shared by its parts. */
#ifndef OPS_GUARD_PARTS_H
#define OPS_GUARD_PARTS_H

#include "base/backoff.h"
#include "ops/apart/subprocess.h"
#include "ops/guard/group.h"
#include "ops/guard/guard.h"
#include "ops/hook.h"

/* A profile that is due. */
struct due {
	const struct guard_rule *rule; /* NULL: none is due */
	uint64_t rss, level, limit;
	uint64_t since_ms;    /* of now_ms() */
	struct timespec time; /* the same as CLOCK_REALTIME */
};

/* A guarded process. */
struct member {
	struct ops_match is;
	bool named;
	bool busy;		     /* a job is working on it */
	bool activate;		     /* profiling is to be turned on */
	bool given_up;		     /* nothing can be done with it: not retried */
	bool gone;		     /* ended, or no longer guarded: dropped when not busy */
	int statm;		     /* its file in /proc, which belongs to this very process */
	uint64_t rss;		     /* bytes, as last read */
	struct group *limit, *own;   /* see groups_take() */
	struct guard_memory *memory; /* for each rule */
	uint64_t next_ms;	     /* when to look at it again */
	struct backoff retry;	     /* of profiles and activation */
	struct due due;
};

#define JOBS_MAX 8 /* at once */

struct job {
	struct subprocess process;
	struct member *member; /* NULL: this slot is free */
	bool activates;
	struct due due;
	char *file;
};

struct guard {
	const struct ops_guard_request *request;
	struct ops_options options; /* for operations on processes */
	struct groups groups;
	struct member **v;
	size_t n, room;
	struct scanned *scanned; /* processes that were inspected; private to members.c */
	size_t n_scanned;
	uint64_t scan_ms, scan_all_ms; /* when the next scans are due */
	bool rescan;		       /* all of them */
	struct subprocess looking;     /* finds out which of `found` are to be guarded */
	struct ops_matches found;
	struct job jobs[JOBS_MAX];
	int turn;
	struct hooks hooks;
	struct ops_guard_summary sum;
};

/* --- members.c: which processes are guarded --- */

/* Add the named processes: each must exist, and be suitable. */
int members_begin(struct guard *g, struct err *err) __must_check;

/* Begin to look for new processes that match, in g->looking, if it is time. */
int members_scan(struct guard *g, struct err *err) __must_check;

/* When that has ended, or after waiting for it: guard those that are suitable. */
int members_found(struct guard *g, struct err *err) __must_check;

/* Drop those that are gone. */
void members_drop(struct guard *g);

void members_fini(struct guard *g);

/* --- jobs.c: operations on them --- */

/* Start what is due, as far as slots are free. */
void jobs_start(struct guard *g);

/* This job has ended: report it. -1 when that fails. */
int job_take(struct guard *g, struct job *job, struct err *err) __must_check;

/* Make all end early, and wait for them. */
int jobs_end(struct guard *g, struct err *err) __must_check;

#endif
