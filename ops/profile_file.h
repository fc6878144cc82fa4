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
 * Read the profile in the file `path`, by profile_parse() or profile_parse_pprof(), also out of a
 * bundle, and unpacked of gzip(1); "-" is the standard input. The message of an error starts with
 * the path. If the file is truncated while it is read, so is the profile. ERR_FAILED. The caller
 * ends `out` with profile_fini().
 */
#define PROFILE_FILE_MAX (UINT64_C(16) << 30)
int profile_file_read(const char *path, const struct profile_options *options, struct profile *out,
		      struct err *err) __must_check;

/* The same with the first `bytes` of `fd`, and without a path in the message. */
int profile_file_read_fd(int fd, uint64_t bytes, const struct profile_options *options,
			 struct profile *out, struct err *err) __must_check;

/* Profiles that become one. */
struct profile_set {
	const char *const *paths; /* at least one */
	size_t n_paths;
	bool add_snapshots; /* also profiles of one process */
	const char *base;   /* NULL: none */
	struct profile_options options;
	const struct ops_symbolize_options *symbols;
};

/*
 * Add up what `paths` hold (profile_merge()), and take away what `base` holds
 * (profile_subtract()). Where some bring names along and some do not, names are looked up by
 * `symbols`. ERR_FAILED also where two of `paths` are of one process, as far as they or their names
 * tell, unless that is wanted. What the sum says of its process is what all of them say.
 */
int profile_file_read_all(const struct profile_set *set, struct profile *out, struct err *err)
	__must_check;

#endif
