// SPDX-License-Identifier: Apache-2.0
/*
 * Take a profile of a process when its memory is about to run out, or when another rule fires:
 * before it is killed (by the OOM killer, or an operator), after which the cause can no longer be
 * found.
 */
#ifndef OPS_GUARD_GUARD_H
#define OPS_GUARD_GUARD_H

#include "ops/guard/rule.h"
#include "ops/ops.h"

#include <limits.h>
#include <time.h>

enum ops_guard_action { OPS_GUARD_DUMP, OPS_GUARD_RECORD, OPS_GUARD_SAMPLE };

/* A profile that is due. */
struct ops_guard_due {
	pid_t pid;
	uint64_t start_time;
	const struct guard_rule *rule;
	uint64_t rss_bytes, level, limit; /* as in struct ops_guard_event */
};

/* Its result. */
struct ops_guard_taken {
	struct ops_cost cost;
	uint64_t bytes;	     /* of the profile */
	uint64_t number;     /* the caller's id for it, also if it failed; 0: none */
	char file[PATH_MAX]; /* the profile; "": not in a file */
	struct err warning;  /* or ERROR_NONE */
};

/* A success or a failure. All texts are raw, and live as long as the call that passes the event. */
struct ops_guard_event {
	struct timespec time; /* when the rule fired, CLOCK_REALTIME */
	pid_t pid;
	char comm[PROC_COMM_SIZE];
	const struct guard_rule *rule;
	uint64_t rss_bytes;    /* at that time */
	uint64_t level, limit; /* bytes: the measured value, and its limit; 0: none */
	const char *group;     /* folder of the control group that it is about; NULL: none */
	const char *cgroup;    /* as in /proc/PID/cgroup */
	const char *container; /* "" if not in one */
	bool ok;
	struct err err;	    /* why not; if `ok`, a warning, or ERROR_NONE */
	const char *file;   /* the profile; NULL if there is none */
	uint64_t number;    /* of struct ops_guard_taken, or 0 */
	const char *before; /* for a recording: the profile of its beginning; or NULL */
	uint64_t bytes;	    /* of `file` */
	uint64_t took_ms;   /* from when the rule fired until the profile was written */
	struct ops_cost cost;
};

struct ops_guard_request {
	const struct ops_match *named; /* these processes, which exist, */
	size_t n_named;
	const struct ops_filter *filter; /* and all that match, including later ones, or NULL */
	const struct guard_rule *rules;
	size_t n_rules;
	struct guard_policy policy;
	enum ops_guard_action action;
	uint64_t action_ms;	/* of a recording or a sampling */
	bool activate;		/* turn profiling on if it is off: it stays on */
	const char *folder;	/* where profiles go; ends in "/"; NULL: take() decides */
	unsigned int keep;	/* number of profiles per process, the newest; 0: all */
	uint64_t max_bytes;	/* of all profiles of guards in that folder; 0: no limit */
	uint64_t interval_ms;	/* interval for memory that is far from every level */
	uint64_t for_ms, count; /* duration, and number of profiles; 0: until stop_fd */
	const char *on_profile, *on_profile_exec; /* run for each, see ops/hook.h; not both */
	int out_fd; /* where events go: ERR_OUTPUT when its reader has gone. Or -1 */

	/* Takes a profile, in a process of its own; NULL: into `folder`, by `action`. */
	int (*take)(void *ctx, const struct ops_guard_due *due, const struct ops_options *options,
		    struct ops_guard_taken *taken, struct err *err);
	/* Handlers. The first two return 0, or -1 with `err` set, which ends the guard. */
	int (*ready)(void *ctx, size_t processes, struct err *err);
	int (*event)(void *ctx, const struct ops_guard_event *event, struct err *err);
	/* About a process, or what cannot be observed on this machine: nothing has failed yet. */
	err_warn_fn *on_warning;
	void *ctx;
};

struct ops_guard_summary {
	uint64_t profiles, failed;
	bool none_left;	  /* all named processes have ended, or are no longer guarded */
	uint64_t skipped; /* commands that were not run, as too many were waiting */
	uint64_t commands_failed;
};

/*
 * Guard until the time is up, enough profiles were taken, all named processes have ended (if there
 * is no filter), or options->stop_fd is readable. A process is not touched before a rule fires:
 * /proc and its control groups are read. Each profile is taken by ops_dump(), ops_record() or
 * ops_sample() in a process of its own (doc/guard.md). A failure is reported, and retried while the
 * rule holds. ERR_NOPROC, ERR_PERM, ERR_NOJEMALLOC and ERR_NOPROF for one of `named`; ERR_OUTPUT
 * for the folder. The caller has SIGINT, SIGTERM and SIGHUP blocked.
 */
int ops_guard(const struct ops_guard_request *request, const struct ops_options *options,
	      struct ops_guard_summary *out, struct err *err) __must_check;

#endif
