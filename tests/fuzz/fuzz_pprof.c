// SPDX-License-Identifier: Apache-2.0
/* The reader of pprof's profiles. The first byte chooses the options. */
#include "profile/profile.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct profile *p)
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile_options options = { 0 };
	struct profile p = { 0 };
	struct err err = ERR_INIT;

	if (!size)
		return 0;
	options.by_thread = data[0] & 1;
	options.only_thread = data[0] & 2;
	options.thread = data[0] >> 2;
	if (profile_parse_pprof(&p, data + 1, size - 1, &options, &err) == 0)
		check(&p);
	else if (err.code != ERR_FAILED || !err.ids[0])
		abort();
	profile_fini(&p);
	return 0;
}
