// SPDX-License-Identifier: Apache-2.0
/* Private to profile/: the mappings of addresses. */
#ifndef PROFILE_MAPPING_H
#define PROFILE_MAPPING_H

#include "profile/profile.h"

/* The mapping of `p` that contains `at`; PROFILE_NONE: none. */
uint32_t mapping_find(const struct profile *p, uint64_t at);

/* Set the mapping of every address again. */
void mapping_place(struct profile *p);

/*
 * Find where the mappings of `other` go in `into`: delta[i] is to be added to addresses in
 * mappings[i]. Missing mappings are added to `into`. ERR_FAILED: the profiles are not of the same
 * program, or memory ran out.
 */
int mapping_move(struct profile *into, const struct profile *other, uint64_t *delta,
		 struct err *err) __must_check;

#endif
