// SPDX-License-Identifier: Apache-2.0
/* How much of the allocated memory a profile covers. */
#ifndef PROFILE_COVERAGE_H
#define PROFILE_COVERAGE_H

#include "base/tristate.h"
#include "profile/profile.h"

#include <stddef.h>

struct profile_coverage {
	double in_use, variance; /* bytes, and the variance of their estimate */
	/*
	 * Bytes allocated by the program: jemalloc's count at the dump, without what sampling adds
	 * (each small object that is sampled gets 16 KiB, LARGE_MINCLASS). 0: not known.
	 */
	double allocated;
	double added;		  /* bytes that sampling adds */
	enum tristate from_start; /* was it sampled from the start? */
};

/* For a complete profile: not filtered, grouped, or subtracted from. */
struct profile_coverage profile_coverage_of(const struct profile *profile);

/*
 * "covers 17.4M of 35.2M allocated (49%): the rest was allocated before sampling began", if the
 * gap exceeds the sampling error. Returns `buf`; NULL: no such gap, or the allocated amount is
 * not known.
 */
#define PROFILE_COVERAGE_SIZE 256
const char *profile_coverage_text(const struct profile_coverage *coverage,
				  char buf[PROFILE_COVERAGE_SIZE]);

#endif
