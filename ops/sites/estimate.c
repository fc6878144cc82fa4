// SPDX-License-Identifier: Apache-2.0
#include "ops/sites/estimate.h"

#include <math.h>

/*
 * What is allocated before a large object since the last event, in `wait`s: half of one where large
 * objects are rare. Where they come by chance, `r` of them for each event of small ones, the gap
 * before one is exponential, and this is the mean of what is left of it behind whole `wait`s.
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
