// SPDX-License-Identifier: Apache-2.0
/*
 * Parts of a profile, chosen by regular expressions, which mean what they mean
 * in Perl (PCRE2), as in jeprof(1).
 */
#ifndef PROFILE_FILTER_H
#define PROFILE_FILTER_H

#include "profile/profile.h"

#include <stdbool.h>

/*
 * Each expression may be NULL. In the order in which they work:
 *   retain, exclude  calls whose function matches stay alone, or go: as jeprof's, by the
 *                    function that was called, with all that was inlined there
 *   focus, ignore    whole stacks, when one of their calls matches: its function, "file:line",
 *                    or the address in 16 digits
 *   show, hide       as retain and exclude, but inlined calls count each on its own: as pprof's
 * What has no call left goes.
 */
struct profile_filter {
	const char *retain, *exclude, *focus, *ignore, *show, *hide;
	bool keep_allocator; /* else the allocator's calls go first */
};

/*
 * Apply it. Needs profile->symbols. ERR_USAGE: an expression is wrong, or takes
 * too long; ERR_FAILED: no memory.
 */
int profile_filter(struct profile *profile, const struct profile_filter *filter, struct err *err)
	__must_check;

#endif
