// SPDX-License-Identifier: Apache-2.0
/* What grows from one heap profile to the next, in files. No process is touched. */
#ifndef OPS_GROWTH_H
#define OPS_GROWTH_H

#include "base/err.h"
#include "profile/coverage.h"
#include "profile/diff.h"
#include "profile/fold.h"
#include "profile/format/format.h"
#include "profile/leaks.h"
#include "symbols/symbolize.h"

#include <stddef.h>
#include <stdint.h>

struct ops_diff {
	struct profile_series series; /* `all` is the difference, a profile of its own */
	double before, after;	      /* bytes, over all stacks */
	int64_t before_ns, after_ns;  /* recorded duration of each; 0: unknown */
	struct profile_coverage coverage_before, coverage;
	struct profile_diff functions, stacks; /* of ops_diff_find() */
	size_t n_folded;
};

/*
 * The growth from the profile in the file `before` to that in `after`, as a difference of bytes in
 * use, or of allocated bytes if both count only these (`series.type`). ERR_FAILED: one cannot be
 * read, they are of different programs, or one counts memory in use and the other allocated memory.
 * The caller ends `out` with ops_diff_fini().
 */
int ops_diff(const char *before, const char *after, const struct ops_symbolize_options *symbols,
	     struct ops_diff *out, struct err *err) __must_check;
/* The same for profiles whose names may be looked up later, in series.all.symbols. */
int ops_diff_of(const struct profile *before, const struct profile *after, struct ops_diff *out,
		struct err *err) __must_check;
void ops_diff_fini(struct ops_diff *diff);

/*
 * Find which functions and stacks grew, for a page to mark; may be repeated. `fold`: functions that
 * allocate for their callers are folded into them, in the difference, too; NULL: not folded.
 * ERR_FAILED; ERR_USAGE as in profile_fold().
 */
int ops_diff_find(struct ops_diff *diff, const struct profile_fold *fold, struct err *err)
	__must_check;

/* Write the difference in `format`: to the file `path`, or to `stream_fd` if that is NULL. */
int ops_diff_write(const struct ops_diff *diff, enum profile_format format, const char *path,
		   bool force, int stream_fd, struct err *err) __must_check;

struct ops_leaks_request {
	const char *const *files;
	size_t n;
	const struct profile_fold *fold; /* as in ops_diff_find() */
	uint64_t limit_bytes; /* 0: that of the process, if it is alive here, or of the machine */
};

enum ops_limit { OPS_LIMIT_NONE, OPS_LIMIT_GIVEN, OPS_LIMIT_CGROUP, OPS_LIMIT_MACHINE };

/* Source of the times of the profiles. */
enum ops_times {
	OPS_TIMES_PROFILES, /* in each profile */
	OPS_TIMES_NAMES,    /* the names of the files */
	OPS_TIMES_FILES,    /* in the profile, or the last change of its file */
	OPS_TIMES_ORDER,    /* unknown: one per second, in the order of the files' names */
};

struct ops_leaks {
	struct profile_series series; /* in chronological order */
	double *seconds;	      /* of each profile, since the first */
	double start;		      /* its time, since 1970; 0: unknown */
	size_t n_folded;	      /* functions, of the series */
	enum ops_times times;	      /* with OPS_TIMES_ORDER rates are bytes per profile */
	struct profile_leaks found;
	double rate, rate_error; /* of all leaks together, bytes per second */
	enum ops_limit limit;
	uint64_t limit_bytes, used_bytes; /* unless OPS_LIMIT_NONE; used of the limited memory */
	double seconds_left; /* until it is reached at this rate; INFINITY: never, or unknown */
	struct err warning;  /* ERROR_NONE: the requested certainty was reached */
};

/*
 * Find leaks, from dumps of one process at different times: the time is that in the dump, or else
 * that in the names of all files, or that of the file's last change. If these contradict the order
 * of numbered names, or are nearly identical, as for copies, only the order is used. ERR_FAILED as
 * in ops_diff() and profile_leaks_find(), or when they are of different processes. The caller ends
 * `out` with ops_leaks_fini().
 */
int ops_leaks(const struct ops_leaks_request *request, const struct ops_symbolize_options *symbols,
	      struct ops_leaks *out, struct err *err) __must_check;
void ops_leaks_fini(struct ops_leaks *leaks);

#endif
