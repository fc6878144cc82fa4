// SPDX-License-Identifier: Apache-2.0
#include "ops/record/count.h"

#include "base/clock.h"

#define TIMEOUT_MS 2000

void record_count_calls(struct record_count *c, struct call calls[RECORD_COUNT_CALLS])
{
	static const uint64_t epoch = 1;

	calls[0] = call_write("epoch", &epoch, sizeof(epoch));
	calls[1] = call_read("stats.allocated", &c->read, sizeof(c->read));
	calls[0].flags |= CALL_KEEP_GOING;
	calls[1].flags |= CALL_KEEP_GOING;
}

void record_count_take(struct record_count *c, const struct call calls[RECORD_COUNT_CALLS])
{
	c->next_ms = now_ms() + RECORD_COUNT_EVERY_MS;
	if (!calls[1].made || calls[1].ret)
		return;
	if (!c->n++)
		c->first = c->read;
	c->last = c->read;
}

bool record_count_due(const struct record_count *c)
{
	return c->n && !c->gave_up && now_ms() >= c->next_ms;
}

void record_count_ask(struct record_count *c, struct session *s, pid_t pid,
		      const struct ops_options *options)
{
	struct call calls[RECORD_COUNT_CALLS];
	struct ops_options brief = *options;
	unsigned int before = c->n;
	struct err ignored;

	brief.wait_ms = 0;
	brief.timeout_ms = TIMEOUT_MS;
	brief.log = NULL;
	record_count_calls(c, calls);
	if (!session_open(s, pid, &brief, &ignored) &&
	    !session_run(s, calls, RECORD_COUNT_CALLS, &ignored))
		record_count_take(c, calls);
	c->gave_up = c->n == before;
}
