// SPDX-License-Identifier: Apache-2.0
/* What grew and shrank between two profiles, and which changes exceed sampling noise. */
#ifndef PROFILE_DIFF_H
#define PROFILE_DIFF_H

#include "profile/series.h"

#include <stdbool.h>

struct profile_change {
	size_t at;	      /* index of the (first) stack or of the function, see below */
	double before, after; /* bytes, estimated */
	double var_before, var_after;
	double p; /* the probability of a change at least as large, up or down, by sampling alone */
	bool significant; /* among all others; of a function, also if one of its stacks is */
};

struct profile_diff {
	/* Largest absolute change first; ties: what holds most in the second profile. */
	struct profile_change *v;
	size_t n, n_significant;
};

/*
 * For a series of two profiles, list each stack (`at`: index in series->all.stacks; stacks with the
 * same calls are joined), and each function with what it allocated directly (`at`: index in
 * series->all.symbols->functions, which are needed). Rows that did not change are left out, but
 * count as tested. SIGNIFICANCE_LEVEL holds for everything marked as significant, in both together.
 * A function is also marked if one of its stacks is, and both changed in the same direction.
 * ERR_FAILED without memory. The caller ends both with profile_diff_fini().
 */
int profile_diff(const struct profile_series *series, struct profile_diff *functions,
		 struct profile_diff *stacks, struct err *err) __must_check;
void profile_diff_fini(struct profile_diff *diff);

/* An upper bound of the standard error of a change. */
double profile_change_error(const struct profile_change *change);

#endif
