// SPDX-License-Identifier: Apache-2.0
/*
 * Parts of a profile, chosen by regular expressions, which mean what they mean
 * in Perl (PCRE2), as in jeprof(1).
 */
#ifndef PROFILE_FILTER_H
#define PROFILE_FILTER_H

#include "base/err.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>

/* Private to profile/: regular expressions with limits, for they may be matched to any name. */

struct regex;

/* ERR_USAGE: it is wrong; the message says where. Ended with regex_free(). */
int regex_new(const char *what, const char *pattern, struct regex **out, struct err *err)
	__must_check;
void regex_close(struct regex **re); /* for _cleanup_() */

/* Does it match somewhere in `text`? Remembers when that took too long. */
bool regex_matches(struct regex *re, const char *text);

/* Does it match the name of a function, as it is shown or without what tells it from others? */
bool regex_matches_name(struct regex *re, const char *name);

/* ERR_USAGE when a match took too long. */
int regex_check(const struct regex *re, struct err *err) __must_check;

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
