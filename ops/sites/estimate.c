// SPDX-License-Identifier: Apache-2.0
#include "ops/sites/estimate.h"

#include <math.h>

/*
 * The memory allocated between the last event and a large object, in `wait`s: half of one if large
 * objects are rare. If they come at random, `r` of them for each event of small ones, the gap
 * before one is exponential, and this is the mean of its remainder after whole `wait`s.
 */
static double mean_before(double r)
{
	return r < 1e-6 ? 0.5 : 1 / log1p(r) - 1 / r;
}

void sites_totals(const struct sites_counts *counts, uint64_t totals[SITES_SIZES])
{
	const __u64 *n = counts->events, *bytes = counts->allocated;
	double part = n[SITES_SMALL]
			      ? 2 * mean_before((double)n[SITES_LARGE] / (double)n[SITES_SMALL])
			      : 0;
	uint64_t more = (uint64_t)((double)counts->before * (1 - part));

	if (more > bytes[SITES_SMALL])
		more = bytes[SITES_SMALL];
	totals[SITES_SMALL] = bytes[SITES_SMALL] - more;
	totals[SITES_LARGE] = bytes[SITES_LARGE] + more;
}
