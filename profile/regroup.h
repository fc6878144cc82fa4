// SPDX-License-Identifier: Apache-2.0
/* What a row of a report, or a box of a picture, stands for. */
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
 * Replace the functions of profile->symbols by such as have one name each:
 * that of the function, of its line ("f file.c:12"), of its file, or of the
 * address ("0x401100 f file.c:12", the place of the call). What is grouped has
 * no file and no line any more. ERR_FAILED without memory.
 */
int profile_regroup(struct profile *profile, enum profile_grain grain, struct err *err)
	__must_check;

/*
 * Names as jeprof(1) has them: without arguments and template arguments, and
 * "name@START" where two functions share such a name; of the allocator is what
 * jeprof has on its list. First this, then what selects by names
 * (profile/filter.h), and then profile_regroup_jeprof(), whose names are
 * jeprof's rows to the byte.
 */
int profile_names_jeprof(struct profile *profile, struct err *err) __must_check;
int profile_regroup_jeprof(struct profile *profile, enum profile_grain grain, struct err *err)
	__must_check;

#endif
