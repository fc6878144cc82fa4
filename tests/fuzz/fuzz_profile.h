// SPDX-License-Identifier: Apache-2.0
/* Shared by the fuzz targets that read profiles. */
#ifndef TESTS_FUZZ_FUZZ_PROFILE_H
#define TESTS_FUZZ_FUZZ_PROFILE_H

#include "profile/profile.h"

#include <math.h>
#include <stdlib.h>

/* Does every index stay within the profile, and is every number a number? */
static inline void fuzz_check(const struct profile *p)
{
	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct profile_stack *s = &p->stacks[i];

		if (s->first + s->depth > p->n_frames ||
		    (s->thread != PROFILE_NONE && s->thread >= p->n_threads))
			abort();
		for (int t = 0; t < PROFILE_TYPES; t++) {
			if (!isfinite(s->value[t]) || !isfinite(s->sampled[t]) ||
			    !(s->variance[t] >= 0))
				abort();
		}
	}
	for (size_t i = 0; i < p->n_frames; i++) {
		if (p->frames[i] >= p->n_addresses)
			abort();
	}
	for (size_t i = 0; i < p->n_addresses; i++) {
		uint32_t m = p->addresses[i].mapping;

		if (m != PROFILE_NONE &&
		    (m >= p->n_mappings || p->addresses[i].pc - 1 < p->mappings[m].start ||
		     p->addresses[i].pc - 1 >= p->mappings[m].end))
			abort();
	}
	if (p->symbols && p->symbols->n_locations != p->n_addresses)
		abort();
}

#endif
