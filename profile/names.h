// SPDX-License-Identifier: Apache-2.0
/*
 * Function names as text that is safe anywhere: control characters and invalid UTF-8 are escaped
 * (output_safe()). Names are never empty, and are bounded, as a format may repeat a name in every
 * stack.
 */
#ifndef PROFILE_NAMES_H
#define PROFILE_NAMES_H

#include "base/err.h"
#include "profile/profile.h"
#include "profile/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROFILE_NAME_MAX 2048 /* bytes with the final 0; C++ templates reach this */

struct profile_names {
	const char **name; /* one for each function */
	uint32_t *rank;	   /* of each function: its place by name; the same for equal names */
	uint32_t *ranked;  /* of each rank: one function that represents all of that name */
	size_t n;
	char *text; /* private */
};

/* ERR_FAILED: no memory. The caller ends it with profile_names_fini(). */
int profile_names_init(struct profile_names *out, const struct profile_symbols *symbols,
		       struct err *err) __must_check;
void profile_names_fini(struct profile_names *names);

/*
 * The stacks of a profile as paths of functions, from the outermost call inwards, sorted by name:
 * paths with a common beginning are adjacent, and a prefix precedes the longer path. One pass over
 * them yields any call tree without building it. Functions of one name are one function.
 */

struct profile_path {
	const uint32_t *function; /* indices of profile_symbols.functions, the outermost first */
	uint32_t depth;
	double value[PROFILE_TYPES];
	double variance[PROFILE_TYPES]; /* of value */
};

struct profile_paths {
	struct profile_path *v; /* no two have the same functions */
	size_t n;
	uint32_t *functions; /* private: of all paths */
};

/*
 * Needs profile->symbols. Innermost allocator frames are dropped unless `keep_allocator` is set;
 * threads are added up. ERR_FAILED: no memory. The caller ends it with profile_paths_fini().
 */
int profile_paths_init(struct profile_paths *out, const struct profile *profile,
		       const struct profile_names *names, bool keep_allocator, struct err *err)
	__must_check;
void profile_paths_fini(struct profile_paths *paths);

/* The number of outermost functions that two paths have in common. */
uint32_t profile_path_common(const struct profile_path *a, const struct profile_path *b);

#endif
