// SPDX-License-Identifier: Apache-2.0
/* The page for several profiles: what grows over time, and the stacks at each moment. */
#ifndef PROFILE_FORMAT_SERIES_PAGE_H
#define PROFILE_FORMAT_SERIES_PAGE_H

#include "profile/leaks.h"
#include "profile/series.h"

#include <stdbool.h>
#include <stdio.h>

/* A growing row and its description: text that is safe to show. */
struct series_grower {
	const struct profile_leak *leak;
	bool certain;
	const char *rate, *interval, *change, *p, *place;
};

struct series_page {
	const struct profile_series *series; /* with names */
	const struct profile_leaks *found;
	const double *seconds; /* of each profile, relative to the first */
	double start;	       /* time of the first, since 1970; 0: only the order is known */
	const struct series_grower *growers;
	size_t n_growers;
	const char *const *summary; /* lines that are safe to show; NULL-terminated */
};

/*
 * Limits of a page's data. What does not fit is left out: intermediate profiles, whose totals are
 * still shown, and the smallest stacks, which become one box.
 */
#define SERIES_PAGE_MAX ((size_t)16 << 20)
#define SERIES_MOMENTS_MAX 64
#define SERIES_COUNTS_MAX ((size_t)1 << 18) /* stacks by moments */

/* ERR_FAILED: no memory. */
int series_page_write(const struct series_page *page, FILE *out, struct err *err) __must_check;

#endif
