// SPDX-License-Identifier: Apache-2.0
/* Putting back what a recording changed in its target. */
#ifndef OPS_RECORD_PUTBACK_H
#define OPS_RECORD_PUTBACK_H

#include "ops/record/journal.h"
#include "ops/target/run.h"

/* The calls that put it back, and what they found. To be zeroed; must outlive the calls. */
struct putback {
	bool active;   /* prof.active, before it was put back */
	uint64_t rate; /* private: what prof.reset sets */
};

#define PUTBACK_CALLS 3
/* Fill `calls`, for session_run(), gated, with what `state` says was changed; returns how many. */
size_t putback_calls(const struct journal_state *state, struct putback *p, struct call *calls);

/* Fail when one of them did not succeed. */
int putback_check(const struct session *s, const struct call *calls, size_t n, struct err *err)
	__must_check;

/* Both in a run of their own. Nothing is called when nothing was changed. */
int putback_run(struct session *s, const struct journal_state *state, struct putback *p,
		struct err *err) __must_check;

#endif
