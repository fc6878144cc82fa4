// SPDX-License-Identifier: Apache-2.0
/* How much of what is allocated a profile knows of. */
#ifndef PROFILE_COVERAGE_H
#define PROFILE_COVERAGE_H

#include "base/tristate.h"
#include "profile/profile.h"

#include <stddef.h>

struct profile_coverage {
	double in_use, variance; /* bytes, and of their estimate */
	/*
	 * Bytes, of the program's: what jemalloc counted at the dump, without what sampling itself
	 * adds (each small object that is sampled gets 16 KiB, LARGE_MINCLASS). 0: not known.
	 */
	double allocated;
	double added;		  /* what sampling adds */
	enum tristate from_start; /* was it sampled from the start? */
};

/* Of a whole profile, of which nothing was left out, grouped, or taken away. */
struct profile_coverage profile_coverage_of(const struct profile *profile);

/*
 * "covers 17.4M of 35.2M allocated (49%): the rest was allocated before sampling began", where
 * that is less than sampling explains. NULL: it covers all, as far as sampling tells, or how much
 * was allocated is not known. Returns `buf`.
 */
#define PROFILE_COVERAGE_SIZE 256
const char *profile_coverage_text(const struct profile_coverage *coverage,
				  char buf[PROFILE_COVERAGE_SIZE]);

#endif
