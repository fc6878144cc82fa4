// SPDX-License-Identifier: Apache-2.0
/*
 * Who holds memory is not who fetched it for others. Functions that allocate on behalf of their
 * callers, as zmalloc, PyMem_Malloc or std::allocator do, are folded into these: the stack ends at
 * the caller. A list of such functions is part of the program (jeprof-ctl(8), ALLOCATORS).
 */
#ifndef PROFILE_FOLD_H
#define PROFILE_FOLD_H

#include "base/err.h"
#include "profile/profile.h"

#include <stddef.h>

struct profile_fold {
	const char *const *also; /* expressions (profile/filter.h) for more of them */
	size_t n_also;
};

/*
 * From the innermost call of each stack on, take away what allocates for its caller, and functions
 * without a name that it called. One that is not innermost then stays, and so does a stack that
 * would have no call left. Needs profile->symbols, with functions as they are (profile/regroup.h).
 * *n_folded: how many functions were taken away. ERR_USAGE: an expression is wrong; ERR_FAILED.
 */
int profile_fold(struct profile *profile, const struct profile_fold *how, size_t *n_folded,
		 struct err *err) __must_check;

/* "2 allocator functions folded into their callers; HOW", which says how to see them. */
#define PROFILE_FOLD_TEXT_SIZE 128
const char *profile_fold_text(size_t n, const char *how, char *buf, size_t size);

#endif
