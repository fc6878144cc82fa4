// SPDX-License-Identifier: Apache-2.0
#include "profile/coverage.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LARGE_MINCLASS 16384 /* in 4.0 and later, with 4 KiB pages */
#define WORTH_BYTES (1 << 20)
#define WORTH_PART 0.05 /* jemalloc's count and its dump are not taken at the same moment */
#define ERRORS 3	/* standard errors */

struct profile_coverage profile_coverage_of(const struct profile *p)
{
	struct profile_coverage c = {
		.allocated = (double)p->facts.allocated,
		.from_start = TRI_UNKNOWN,
	};

	if (!profile_knows(p, PROFILE_INUSE_SPACE))
		return (struct profile_coverage){ .from_start = TRI_UNKNOWN };
	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct profile_stack *s = &p->stacks[i];

		c.in_use += s->value[PROFILE_INUSE_SPACE];
		c.variance += s->variance[PROFILE_INUSE_SPACE];
		/* What was allocated because objects were sampled, not by the program. */
		c.added += fmax(s->sampled[PROFILE_INUSE_OBJECTS] * LARGE_MINCLASS -
					s->sampled[PROFILE_INUSE_SPACE],
				0);
	}
	c.allocated = fmax(c.allocated - c.added, 0);
	if (p->facts.opt_active && !strcmp(p->facts.opt_active, "true"))
		c.from_start = TRI_YES;
	else if (p->facts.opt_active && !strcmp(p->facts.opt_active, "false"))
		c.from_start = TRI_NO;
	return c;
}

const char *profile_coverage_text(const struct profile_coverage *c, char buf[PROFILE_COVERAGE_SIZE])
{
	const char *why = "the rest was allocated before sampling began, or in threads that are "
			  "not sampled";
	double rest = c->allocated - c->in_use;
	char covered[16], counted[16], added[16];
	int n;

	if (!(c->in_use >= 0) || !(rest >= WORTH_BYTES) || rest < WORTH_PART * c->allocated ||
	    rest < ERRORS * sqrt(c->variance))
		return NULL;
	if (c->from_start == TRI_NO)
		why = "the rest was allocated before sampling began";
	else if (c->from_start == TRI_YES)
		why = "it was sampled from the start: the rest was allocated in threads that are "
		      "not sampled, while sampling was off, or before a reset";
	n = snprintf(buf, PROFILE_COVERAGE_SIZE, "covers %s of %s allocated (%.0f%%): %s",
		     text_size((uint64_t)c->in_use, covered, sizeof(covered)),
		     text_size((uint64_t)c->allocated, counted, sizeof(counted)),
		     floor(100 * c->in_use / c->allocated), why);
	if (c->added >= WORTH_BYTES && c->added >= WORTH_PART * c->allocated)
		snprintf(buf + n, PROFILE_COVERAGE_SIZE - (size_t)n,
			 "; sampling itself takes %s more",
			 text_size((uint64_t)c->added, added, sizeof(added)));
	return buf;
}
