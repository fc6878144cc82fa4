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
	double before, after;	      /* bytes, all stacks together */
	int64_t before_ns, after_ns;  /* how long each was recorded; 0: not known */
	struct profile_coverage coverage_before, coverage;
	struct profile_diff functions, stacks; /* of ops_diff_find() */
	size_t n_folded;
};

/*
 * The growth from the profile in the file `before` to that in `after`, in
 * bytes in use, or allocated where both count these alone (`series.type`): the difference.
 * ERR_FAILED: one cannot be read, they are of different programs, or one counts what is in use and
 * the other what is allocated. The caller ends `out` with ops_diff_fini().
 */
int ops_diff(const char *before, const char *after, const struct ops_symbolize_options *symbols,
	     struct ops_diff *out, struct err *err) __must_check;
/* The same of profiles, whose names may be looked up later: in series.all.symbols. */
int ops_diff_of(const struct profile *before, const struct profile *after, struct ops_diff *out,
		struct err *err) __must_check;
void ops_diff_fini(struct ops_diff *diff);

/*
 * Which functions and stacks grew, which a page marks; it may be asked again. `fold`: what
 * allocates for its callers is folded into them, in the difference, too; NULL: it is not.
 * ERR_FAILED; ERR_USAGE as in profile_fold().
 */
int ops_diff_find(struct ops_diff *diff, const struct profile_fold *fold, struct err *err)
	__must_check;

/* Write the difference in `format`: to the file `path`, or to `stream_fd` when that is NULL. */
int ops_diff_write(const struct ops_diff *diff, enum profile_format format, const char *path,
		   bool force, int stream_fd, struct err *err) __must_check;

struct ops_leaks_request {
	const char *const *files;
	size_t n;
	const struct profile_fold *fold; /* as in ops_diff_find() */
	uint64_t
		limit_bytes; /* 0: that of the process, if it still lives here, or of the machine */
};

enum ops_limit { OPS_LIMIT_NONE, OPS_LIMIT_GIVEN, OPS_LIMIT_CGROUP, OPS_LIMIT_MACHINE };

/* Where the times of the profiles are from. */
enum ops_times {
	OPS_TIMES_PROFILES, /* each says its own */
	OPS_TIMES_NAMES,    /* the names of the files */
	OPS_TIMES_FILES,    /* each says its own, or it is that of the last change of its file */
	OPS_TIMES_ORDER,    /* not known: one a second, in the order of the files' names */
};

struct ops_leaks {
	struct profile_series series; /* in the order of time */
	double *seconds;	      /* of each profile, since the first */
	double start;		      /* when that was, since 1970; 0: not known */
	size_t n_folded;	      /* functions, of the series */
	enum ops_times times;	      /* with OPS_TIMES_ORDER rates are bytes per profile */
	struct profile_leaks found;
	double rate, rate_error; /* of all that leak together, bytes per second */
	enum ops_limit limit;
	uint64_t limit_bytes,
		used_bytes;  /* unless OPS_LIMIT_NONE; `used` of what the limit is on */
	double seconds_left; /* until it is reached at this rate; INFINITY: never, or not known */
	struct err warning;  /* ERROR_NONE: the certainty that is asked for was reached */
};

/*
 * What leaks, from dumps of one process at different times: the time is what the dump says, or
 * else what the names of all files say, or that of the file's last change. Where these contradict
 * the order of numbered names, or are all the same but for moments, as of copies, the order alone
 * is used. ERR_FAILED as in ops_diff() and profile_leaks_find(), or when they are of different
 * processes. The caller ends `out` with ops_leaks_fini().
 */
int ops_leaks(const struct ops_leaks_request *request, const struct ops_symbolize_options *symbols,
	      struct ops_leaks *out, struct err *err) __must_check;
void ops_leaks_fini(struct ops_leaks *leaks);

#endif
