// SPDX-License-Identifier: Apache-2.0
/* A profile of no more stacks than its reader takes. */
#ifndef PROFILE_BOUND_H
#define PROFILE_BOUND_H

#include "profile/profile.h"

/*
 * Where more than `max` stacks count anything, keep those with most of `type`, whatever the sign,
 * and put one of the single call PROFILE_BOUND_OTHER behind them, with all that the others count:
 * every total stays what it was. max == 0: no limit. Needs profile->symbols. ERR_FAILED without
 * memory, with the profile as it was.
 */
#define PROFILE_BOUND_OTHER "(other)"
int profile_bound(struct profile *profile, size_t max, enum profile_type type, struct err *err)
	__must_check;

#endif
