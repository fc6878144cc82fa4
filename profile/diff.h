// SPDX-License-Identifier: Apache-2.0
/* What grew and what shrank between two profiles, and what of it is more than sampling makes. */
#ifndef PROFILE_DIFF_H
#define PROFILE_DIFF_H

#include "profile/series.h"

#include <stdbool.h>

struct profile_change {
	size_t at;	      /* index of the (first) stack or of the function, see below */
	double before, after; /* bytes, estimated */
	double var_before, var_after;
	double p; /* the probability that sampling alone makes a change as large, either way */
	bool significant; /* beside all others; of a function, also where one of its stacks is */
};

struct profile_diff {
	/* The largest change first, whichever way it goes; of equal ones, what holds most after. */
	struct profile_change *v;
	size_t n, n_significant;
};

/*
 * Of a series of two profiles: each stack, those of the same calls being one, `at` its index in
 * series->all.stacks; and each function with what was allocated in it directly,
 * `at` being an index in series->all.symbols->functions, which are needed.
 * What did not change is left out, though it counts among what was tested. All that is marked as
 * significant, in both, is so together at SIGNIFICANCE_LEVEL. A function is marked also where one
 * of its stacks is, and the change of both goes the same way.
 * ERR_FAILED without memory. The caller ends both with profile_diff_fini().
 */
int profile_diff(const struct profile_series *series, struct profile_diff *functions,
		 struct profile_diff *stacks, struct err *err) __must_check;
void profile_diff_fini(struct profile_diff *diff);

/* The standard error of a change, at most. */
double profile_change_error(const struct profile_change *change);

#endif
