// SPDX-License-Identifier: Apache-2.0
/* Restoring what a recording changed in its target. */
#ifndef OPS_RECORD_PUTBACK_H
#define OPS_RECORD_PUTBACK_H

#include "ops/record/journal.h"
#include "ops/target/run.h"

/* The calls that restore it, and what they found. Zeroed by the caller; must outlive the calls. */
struct putback {
	bool active;   /* prof.active, before it was restored */
	uint64_t rate; /* private: the value for prof.reset */
};

#define PUTBACK_CALLS 3
/*
 * Fill `calls`, for a gated session_run(), to restore what `state` says was changed; returns how
 * many.
 */
size_t putback_calls(const struct journal_state *state, struct putback *p, struct call *calls);

/* Fail if one of them did not succeed. */
int putback_check(const struct session *s, const struct call *calls, size_t n, struct err *err)
	__must_check;

/* Both, in a run of their own. No call is made if nothing was changed. */
int putback_run(struct session *s, const struct journal_state *state, struct putback *p,
		struct err *err) __must_check;

#endif
