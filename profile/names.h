// SPDX-License-Identifier: Apache-2.0
/*
 * The functions' names as text that can be shown anywhere: control characters
 * and what is no UTF-8 escaped (output_safe()), never empty, and bounded,
 * since a format may repeat a name in every stack.
 */
#ifndef PROFILE_NAMES_H
#define PROFILE_NAMES_H

#include "base/err.h"
#include "profile/profile.h"
#include "profile/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROFILE_NAME_MAX 2048 /* bytes with the 0; C++ templates reach it */

struct profile_names {
	const char **name; /* one for each function */
	uint32_t *rank;	   /* of each function in the order of names; equal names, equal ranks */
	uint32_t *ranked;  /* of each rank, one function that stands for all of that name */
	size_t n;
	char *text; /* private */
};

/* ERR_FAILED: no memory. The caller ends it with profile_names_fini(). */
int profile_names_init(struct profile_names *out, const struct profile_symbols *symbols,
		       struct err *err) __must_check;
void profile_names_fini(struct profile_names *names);

/*
 * The stacks of a profile as paths of functions, from the outermost call
 * inwards, in the order of their names: what begins alike lies together, and
 * a path that begins another comes before it. One pass over them yields any
 * tree of calls without building one. Functions of one name are one function.
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
	uint32_t *functions; /* private: of all */
};

/*
 * Needs profile->symbols. Allocator frames at the inner end are dropped unless
 * kept; threads are taken together. ERR_FAILED: no memory. The caller ends it
 * with profile_paths_fini().
 */
int profile_paths_init(struct profile_paths *out, const struct profile *profile,
		       const struct profile_names *names, bool keep_allocator, struct err *err)
	__must_check;
void profile_paths_fini(struct profile_paths *paths);

/* How many functions two paths have in common at their outer end. */
uint32_t profile_path_common(const struct profile_path *a, const struct profile_path *b);

#endif
