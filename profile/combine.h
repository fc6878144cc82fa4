// SPDX-License-Identifier: Apache-2.0
/* Adds and subtracts profiles, stack by stack. */
#ifndef PROFILE_COMBINE_H
#define PROFILE_COMBINE_H

#include "profile/profile.h"

/*
 * An address for a location that has none: outside of any program, and computed from the names and
 * lines of the location, so that it is the same in every profile.
 */
#define PROFILE_MADE_UP (UINT64_C(1) << 63)
uint64_t profile_made_up_pc(const struct profile_symbols *symbols, size_t location);

/*
 * Add the counts of `other` to `into`, or subtract them. Stacks are the same if they go through the
 * same places of the same images. Those of another run are moved to where `into` has the image,
 * which is identified by its build id, or else by its path. Variances are added in either case.
 * Names that both have (profile.symbols) are kept; an address with different functions is two
 * places.
 *
 * ERR_FAILED, with `into` unchanged: the programs differ, one counts only allocated bytes and the
 * other memory in use, or memory ran out.
 */
int profile_merge(struct profile *into, const struct profile *other, struct err *err) __must_check;
int profile_subtract(struct profile *into, const struct profile *other, struct err *err)
	__must_check;

/* The facts that are text. */
#define PROFILE_FACT_TEXTS 5
void profile_fact_texts(struct profile_facts *facts, const char **texts[PROFILE_FACT_TEXTS]);

/* Copy the facts of a profile that may be freed. ERR_FAILED without memory. */
int profile_keep_facts(struct profile *into, const struct profile_facts *facts, struct err *err)
	__must_check;

/* In a difference, set negative counts to 0. */
void profile_drop_negative(struct profile *profile);

#endif
