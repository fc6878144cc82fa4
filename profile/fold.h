// SPDX-License-Identifier: Apache-2.0
/*
 * Functions that allocate on behalf of their callers, such as zmalloc, PyMem_Malloc or
 * std::allocator, are folded into these, which hold the memory: the stack ends at the caller. A
 * list of such functions is part of the program (jeprof-ctl(8), ALLOCATORS).
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
 * Starting with the innermost call of each stack, drop functions that allocate for their callers,
 * and nameless functions called by them. Such functions further out stay, and so does a stack that
 * would have no call left. Needs profile->symbols, not yet regrouped (profile/regroup.h).
 * *n_folded: number of functions dropped. ERR_USAGE: an expression is invalid; ERR_FAILED.
 */
int profile_fold(struct profile *profile, const struct profile_fold *how, size_t *n_folded,
		 struct err *err) __must_check;

/* "2 allocator functions folded into their callers; HOW", where `how` says how to see them. */
#define PROFILE_FOLD_TEXT_SIZE 128
const char *profile_fold_text(size_t n, const char *how, char *buf, size_t size);

#endif
