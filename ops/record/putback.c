// SPDX-License-Identifier: Apache-2.0
#include "ops/record/putback.h"

#include <stdbool.h>

static const bool off = false;

/*
 * prof.active first, as it is what costs the target something. The rate is restored by prof.reset,
 * which discards the samples taken at the other rate.
 */
size_t putback_calls(const struct journal_state *state, struct putback *p, struct call *calls)
{
	size_t n = 0;

	if (state->active)
		calls[n++] = call_swap("prof.active", &p->active, &off, sizeof(off));
	if (state->thread_active_init)
		calls[n++] = call_write("prof.thread_active_init", &off, sizeof(off));
	p->rate = state->lg_sample;
	if (state->rate)
		calls[n++] = call_write("prof.reset", &p->rate, sizeof(p->rate));
	for (size_t i = 0; i < n; i++)
		calls[i].flags |= CALL_KEEP_GOING;
	return n;
}

int putback_check(const struct session *s, const struct call *calls, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		if (!call_succeeded(&calls[i]))
			return session_call_failed(s, &calls[i], err);
	}
	return 0;
}

int putback_run(struct session *s, const struct journal_state *state, struct putback *p,
		struct err *err)
{
	struct call calls[PUTBACK_CALLS];
	size_t n = putback_calls(state, p, calls);

	if (!n)
		return 0;
	if (session_run(s, &(struct run){ .calls = calls, .n = n, .gated = true }, err))
		return -1;
	return putback_check(s, calls, n, err);
}
