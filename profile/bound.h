// SPDX-License-Identifier: Apache-2.0
/* Limits the number of stacks for readers that take no more. */
#ifndef PROFILE_BOUND_H
#define PROFILE_BOUND_H

#include "profile/profile.h"

/*
 * If more than `max` stacks have a count, keep those with the largest absolute values of `type`,
 * and append a stack of the single call PROFILE_BOUND_OTHER with the counts of all others, so that
 * no total changes. max == 0: no limit. Needs profile->symbols. ERR_FAILED without memory; the
 * profile is then unchanged.
 */
#define PROFILE_BOUND_OTHER "(other)"
int profile_bound(struct profile *profile, size_t max, enum profile_type type, struct err *err)
	__must_check;

#endif
