// SPDX-License-Identifier: Apache-2.0
/* Private to ops/guard/: what its parts share. */
#ifndef OPS_GUARD_PARTS_H
#define OPS_GUARD_PARTS_H

#include "ops/apart/subprocess.h"
#include "ops/guard/group.h"
#include "ops/guard/guard.h"
#include "ops/hook.h"

/* A profile that is due. */
struct due {
	const struct guard_rule *rule; /* NULL: none is */
	uint64_t rss, level, limit;
	uint64_t since_ms;    /* of now_ms() */
	struct timespec time; /* the same for people */
};

/* A guarded process. */
struct member {
	struct ops_match is;
	bool named;
	bool busy;     /* somebody works on it */
	bool activate; /* profiling is to be turned on */
	bool given_up; /* nothing can be done to it: it is not tried again */
	bool gone; /* it has ended, or is guarded no more: it is dropped when nobody works on it */
	int statm; /* its file in /proc, which is this very process's */
	uint64_t rss;		     /* bytes, as it was read last */
	struct group *limit, *own;   /* see groups_take() */
	struct guard_memory *memory; /* of each rule */
	uint64_t next_ms;	     /* when to look at it again */
	uint64_t retry_ms;	     /* until when nothing is tried */
	unsigned int failures;	     /* in a row */
	struct due due;
};

#define JOBS_MAX 8 /* at once */

struct job {
	struct subprocess process;
	struct member *member; /* NULL: this place is free */
	bool activates;
	struct due due;
	char *file;
};

struct guard {
	const struct ops_guard_request *request;
	struct ops_options options; /* of what is done to processes */
	struct groups groups;
	struct member **v;
	size_t n, room;
	struct scanned *scanned; /* processes that were looked at; private to members.c */
	size_t n_scanned;
	uint64_t scan_ms, scan_all_ms; /* when next */
	bool scan_anew;		       /* all of them */
	struct subprocess looking;     /* which of `found` are to be guarded */
	struct ops_matches found;
	struct job jobs[JOBS_MAX];
	int turn;
	struct hooks hooks;
	struct ops_guard_summary sum;
};

/* --- members.c: which processes are guarded --- */

/* Those that are named: each must be there, and fit. */
int members_begin(struct guard *g, struct err *err) __must_check;

/* Those that match: begin to look for new ones, if it is time, in g->looking. */
int members_scan(struct guard *g, struct err *err) __must_check;

/* That has ended, or we wait for it: guard those that fit. */
int members_found(struct guard *g, struct err *err) __must_check;

/* Drop those that are gone. */
void members_drop(struct guard *g);

void members_fini(struct guard *g);

/* --- jobs.c: what is done to them --- */

/* Start what is due, as far as there is room. */
void jobs_start(struct guard *g);

/* This one has ended: tell of it. -1 when that fails. */
int job_take(struct guard *g, struct job *job, struct err *err) __must_check;

/* Let all end early, and wait for them. */
int jobs_end(struct guard *g, struct err *err) __must_check;

#endif
