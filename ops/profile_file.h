// SPDX-License-Identifier: Apache-2.0
/* Heap profiles in files. */
#ifndef OPS_PROFILE_FILE_H
#define OPS_PROFILE_FILE_H

#include "base/err.h"
#include "profile/profile.h"
#include "symbols/symbolize.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Read the profile in the file `path`, by profile_parse() or profile_parse_pprof(), also from a
 * bundle, or compressed by gzip(1); "-" is the standard input. Error messages start with the path.
 * If the file is truncated while it is read, so is the profile. ERR_FAILED. The caller ends `out`
 * with profile_fini().
 */
#define PROFILE_FILE_MAX (UINT64_C(16) << 30)
int profile_file_read(const char *path, const struct profile_options *options, struct profile *out,
		      struct err *err) __must_check;

/* The same for the first `bytes` of `fd`, and without a path in the message. */
int profile_file_read_fd(int fd, uint64_t bytes, const struct profile_options *options,
			 struct profile *out, struct err *err) __must_check;

/* Profiles to merge into one. */
struct profile_set {
	const char *const *paths; /* at least one */
	size_t n_paths;
	bool add_snapshots; /* even profiles of one process */
	const char *base;   /* NULL: none */
	struct profile_options options;
	const struct ops_symbolize_options *symbols;
};

/*
 * Add up the profiles in `paths` (profile_merge()), and subtract the one in `base`
 * (profile_subtract()). If only some contain names, names are looked up by `symbols`. ERR_FAILED
 * also when two of `paths` are of one process, as far as their contents or names show, unless that
 * is requested. The sum keeps those facts about its process on which all agree.
 */
int profile_file_read_all(const struct profile_set *set, struct profile *out, struct err *err)
	__must_check;

#endif
