// SPDX-License-Identifier: Apache-2.0
/* Profiles read from files, and prepared for display. */
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
	bool add_snapshots; /* add up even profiles of one process */
	const char *base;   /* to subtract; NULL: nothing */
	struct profile_options options;
	struct profile_filter filter;
	const struct profile_fold *fold; /* allocates for its callers; NULL: not folded */
	enum profile_grain grain;
	bool jeprof;	    /* names and rows as in jeprof(1) */
	bool whole;	    /* for a format: functions unchanged, with their files and lines */
	bool drop_negative; /* in a difference: decreases count as 0 */
	struct ops_symbolize_options symbols;
};

struct ops_report {
	struct profile profile;
	double total[PROFILE_TYPES]; /* before filtering */
	/* Before filtering; unknown for a difference or one thread. */
	struct profile_coverage coverage;
	size_t n_folded; /* functions, by `fold` */
	bool has_memory; /* the profile is from a bundle that says where the memory was: */
	struct ops_explain memory;
};

/*
 * Read the profiles, add them up, look up their names if a file has none, and select and group as
 * requested. ERR_FAILED: a file is not a profile, they do not match, several are of one process, or
 * there is no such thread; ERR_USAGE: an expression is invalid. The caller ends `out` with
 * ops_report_fini().
 */
int ops_report(const struct ops_report_request *request, struct ops_report *out, struct err *err)
	__must_check;
void ops_report_fini(struct ops_report *report);

/*
 * Make `write` fill the file `path`, which appears complete or not at all; an existing one is only
 * replaced with `force`. ERR_OUTPUT, or the error of `write`.
 */
int ops_write_file(const char *path, bool force, memory_file_fn *write, const void *ctx,
		   struct err *err) __must_check;

/* Could ops_write_file() write this file? ERR_OUTPUT. */
int ops_check_file(const char *path, bool force, struct err *err) __must_check;

#endif
