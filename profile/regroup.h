// SPDX-License-Identifier: Apache-2.0
/* What a row of a report, or a box in a picture, represents. */
#ifndef PROFILE_REGROUP_H
#define PROFILE_REGROUP_H

#include "profile/profile.h"

enum profile_grain {
	PROFILE_BY_FUNCTION, /* the default */
	PROFILE_BY_LINE,
	PROFILE_BY_FILE,
	PROFILE_BY_ADDRESS,
	PROFILE_GRAINS
};

/*
 * Replace the functions of profile->symbols by groups: one for each name of a function, of a line
 * ("f file.c:12"), of a file, or of an address ("0x401100 f file.c:12", the place of the call).
 * Groups have neither a file nor lines. ERR_FAILED without memory.
 */
int profile_regroup(struct profile *profile, enum profile_grain grain, struct err *err)
	__must_check;

/*
 * Use jeprof(1)'s names: without arguments and template arguments, and "name@START" if two
 * functions share such a name. Allocator functions are those on jeprof's list. Call this first,
 * then select by names (profile/filter.h), then call profile_regroup_jeprof(), which makes the
 * names exactly those of jeprof's rows.
 */
int profile_names_jeprof(struct profile *profile, struct err *err) __must_check;
int profile_regroup_jeprof(struct profile *profile, enum profile_grain grain, struct err *err)
	__must_check;

#endif
