// SPDX-License-Identifier: Apache-2.0
/* Profiles read from files, and made ready to be shown. */
#ifndef OPS_REPORT_H
#define OPS_REPORT_H

#include "base/err.h"
#include "io/memory_file.h"
#include "ops/ops.h"
#include "profile/coverage.h"
#include "profile/filter.h"
#include "profile/fold.h"
#include "profile/profile.h"
#include "profile/regroup.h"
#include "symbols/symbolize.h"

#include <stdbool.h>
#include <stddef.h>

struct ops_report_request {
	const char *const *files; /* at least one; "-" is the standard input */
	size_t n_files;
	bool add_snapshots; /* add up also profiles of one process */
	const char *base;   /* to be taken away; NULL: nothing */
	struct profile_options options;
	struct profile_filter filter;
	const struct profile_fold *fold; /* what allocates for its callers; NULL: it is shown */
	enum profile_grain grain;
	bool jeprof;	    /* names and rows as jeprof(1) has them */
	bool whole;	    /* for a format: functions as they are, with their files and lines */
	bool drop_negative; /* of a difference: what has become less counts as 0 */
	struct ops_symbolize_options symbols;
};

struct ops_report {
	struct profile profile;
	double total[PROFILE_TYPES];	  /* before anything was filtered out */
	struct profile_coverage coverage; /* of the same; unknown for a difference or one thread */
	size_t n_folded;		  /* functions, by `fold` */
	bool has_memory; /* the profile is out of a bundle that says where the memory was: */
	struct ops_explain memory;
};

/*
 * Read the profiles, add them up, look their names up where a file brings none
 * along, and select and group as it is asked for. ERR_FAILED: a file is no
 * profile, they do not belong together, several are of one process, or it has
 * no such thread; ERR_USAGE: an expression is wrong. The caller ends `out` with ops_report_fini().
 */
int ops_report(const struct ops_report_request *request, struct ops_report *out, struct err *err)
	__must_check;
void ops_report_fini(struct ops_report *report);

/*
 * Have `write` fill the file `path`, which appears complete or not at all; an
 * existing one is replaced with `force` alone. ERR_OUTPUT, or what `write` says.
 */
int ops_write_file(const char *path, bool force, memory_file_fn *write, const void *ctx,
		   struct err *err) __must_check;

/* Could ops_write_file() write this file? ERR_OUTPUT. */
int ops_check_file(const char *path, bool force, struct err *err) __must_check;

#endif
