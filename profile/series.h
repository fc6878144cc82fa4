// SPDX-License-Identifier: Apache-2.0
/* Several profiles of one program: the counts of each stack in each profile. */
#ifndef PROFILE_SERIES_H
#define PROFILE_SERIES_H

#include "base/err.h"
#include "profile/profile.h"

#include <stddef.h>

struct profile_series_row {
	double *value, *variance; /* of the first n_stacks stacks of `all` */
	size_t n_stacks;	  /* later stacks came with later profiles, and are 0 here */
};

struct profile_series {
	struct profile all; /* every stack of any profile; its counts are meaningless */
	enum profile_type type;
	struct profile_series_row *rows; /* one for each profile, in the order of addition */
	size_t n, room;
};

/*
 * Add a profile's counts of series->type. A zeroed series is empty. Stacks are matched by
 * profile_merge(); after one of its errors, only profile_series_fini() may be called.
 */
int profile_series_add(struct profile_series *series, const struct profile *profile,
		       struct err *err) __must_check;
void profile_series_fini(struct profile_series *series);

/*
 * Make `all` the difference of two profiles of the series: a valid profile, whose stacks keep their
 * indices.
 */
int profile_series_difference(struct profile_series *series, const struct profile *before,
			      const struct profile *after, struct err *err) __must_check;

/* The value and variance of one stack in one profile. */
double profile_series_value(const struct profile_series *series, size_t profile, size_t stack);
double profile_series_variance(const struct profile_series *series, size_t profile, size_t stack);

#endif
