// SPDX-License-Identifier: Apache-2.0
/* Several profiles of one program side by side: the counts of each stack in each of them. */
#ifndef PROFILE_SERIES_H
#define PROFILE_SERIES_H

#include "base/err.h"
#include "profile/profile.h"

#include <stddef.h>

struct profile_series_row {
	double *value, *variance; /* of each stack of `all`, as far as `n_stacks` */
	size_t n_stacks;	  /* those after it came with later profiles: 0 here */
};

struct profile_series {
	struct profile all; /* every stack of any of them; its counts mean nothing */
	enum profile_type type;
	struct profile_series_row *rows; /* one for each profile, in the order they came */
	size_t n, room;
};

/*
 * Add a profile, whose counts of series->type are taken: a zeroed series is
 * empty. Stacks are matched by profile_merge(), with its errors, after which
 * the series is good for nothing but profile_series_fini().
 */
int profile_series_add(struct profile_series *series, const struct profile *profile,
		       struct err *err) __must_check;
void profile_series_fini(struct profile_series *series);

/*
 * Make `all` the difference of two profiles that the series holds: a profile
 * of its own, whose stacks keep their place.
 */
int profile_series_difference(struct profile_series *series, const struct profile *before,
			      const struct profile *after, struct err *err) __must_check;

/* Of one stack in one profile. */
double profile_series_value(const struct profile_series *series, size_t profile, size_t stack);
double profile_series_variance(const struct profile_series *series, size_t profile, size_t stack);

#endif
