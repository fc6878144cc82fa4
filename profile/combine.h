// SPDX-License-Identifier: Apache-2.0
/* Profiles added up and taken away from one another, stack by stack. */
#ifndef PROFILE_COMBINE_H
#define PROFILE_COMBINE_H

#include "profile/profile.h"

/*
 * Where a location has no address of its own: one that no program has, by the names and lines of
 * it, so that it is the same in each profile.
 */
#define PROFILE_MADE_UP (UINT64_C(1) << 63)
uint64_t profile_made_up_pc(const struct profile_symbols *symbols, size_t location);

/*
 * Add the counts of `other` to `into`, or take them away. Stacks are the same
 * when they went through the same places of the same images: those of another
 * run are moved to where `into` has that image, which is known by its build id
 * or else by its path. Variances are added either way. Names that both bring
 * along (profile.symbols) are kept; an address of different functions is two
 * places.
 *
 * ERR_FAILED, with `into` as it was: the programs are not the same, one counts allocated bytes
 * alone and the other what is in use, or there is no memory.
 */
int profile_merge(struct profile *into, const struct profile *other, struct err *err) __must_check;
int profile_subtract(struct profile *into, const struct profile *other, struct err *err)
	__must_check;

/* Those of the facts that are text. */
#define PROFILE_FACT_TEXTS 5
void profile_fact_texts(struct profile_facts *facts, const char **texts[PROFILE_FACT_TEXTS]);

/* Take over what is known of the process, of a profile that may go. ERR_FAILED without memory. */
int profile_keep_facts(struct profile *into, const struct profile_facts *facts, struct err *err)
	__must_check;

/* Of a difference: what has become less counts as 0. */
void profile_drop_negative(struct profile *profile);

#endif
