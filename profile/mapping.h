// SPDX-License-Identifier: Apache-2.0
/* Private to profile/: where addresses lie. */
#ifndef PROFILE_MAPPING_H
#define PROFILE_MAPPING_H

#include "profile/profile.h"

/* Which mapping of `p` holds `at`, PROFILE_NONE if none does. */
uint32_t mapping_find(const struct profile *p, uint64_t at);

/* Set the mapping of all addresses anew. */
void mapping_place(struct profile *p);

/*
 * Where the mappings of `other` go in `into`: delta[i] is to be added to what
 * lies in mappings[i]. Those that `into` does not have are added to it.
 * ERR_FAILED when the two are not of the same program, or memory runs out.
 */
int mapping_move(struct profile *into, const struct profile *other, uint64_t *delta,
		 struct err *err) __must_check;

#endif
