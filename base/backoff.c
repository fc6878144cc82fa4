// SPDX-License-Identifier: Apache-2.0
#include "base/backoff.h"

void backoff_fail(struct backoff *b, uint64_t min_ms, uint64_t max_ms, uint64_t now_ms)
{
	uint64_t after = min_ms;

	for (unsigned int i = 0; i < b->failures && after < max_ms; i++)
		after *= 2;
	b->failures++;
	b->at_ms = now_ms + (after < max_ms ? after : max_ms);
}

void backoff_reset(struct backoff *b)
{
	b->failures = 0;
}
