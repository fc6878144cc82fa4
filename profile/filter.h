// SPDX-License-Identifier: Apache-2.0
/*
 * Selects parts of a profile by regular expressions with Perl's syntax (PCRE2), as in jeprof(1).
 */
#ifndef PROFILE_FILTER_H
#define PROFILE_FILTER_H

#include "base/err.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>

/* Private to profile/: regular expressions with limits, as names are untrusted. */

struct regex;

/* ERR_USAGE: invalid; the message says where. Released with regex_close(). */
int regex_new(const char *what, const char *pattern, struct regex **out, struct err *err)
	__must_check;
void regex_close(struct regex **re); /* for _cleanup_() */

/* Does it match somewhere in `text`? Remembers if a match took too long. */
bool regex_matches(struct regex *re, const char *text);

/* Does it match a function's name, with or without its distinguishing suffix? */
bool regex_matches_name(struct regex *re, const char *name);

/* ERR_USAGE: a match took too long. */
int regex_check(const struct regex *re, struct err *err) __must_check;

/*
 * Each expression may be NULL. They are applied in this order:
 *   retain, exclude  keep only, or drop, calls whose function matches: as in jeprof, by the
 *                    function that was called, with everything inlined into it
 *   focus, ignore    keep only, or drop, stacks with a call that matches: its function,
 *                    "file:line", or the address in 16 digits
 *   show, hide       as retain and exclude, but for each inlined call by itself: as in pprof
 * Stacks without any call left are dropped.
 */
struct profile_filter {
	const char *retain, *exclude, *focus, *ignore, *show, *hide;
	bool keep_allocator; /* false: drop the allocator's calls first */
};

/*
 * Apply the filter. Needs profile->symbols. ERR_USAGE: an expression is invalid, or takes too long;
 * ERR_FAILED: no memory.
 */
int profile_filter(struct profile *profile, const struct profile_filter *filter, struct err *err)
	__must_check;

#endif
