// SPDX-License-Identifier: Apache-2.0
#include "serve/repair.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "serve/broker.h"

static int put_back(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	const struct repair_work *w = ctx;
	struct ops_options options = w->options;

	(void)answer;
	broker_leave(w->broker, &w->broker->repair.process);
	options.stop_fd = stop_fd;
	return store_repair(w->runs, &options, err);
}

static void again_later(struct repair *r)
{
	r->due = true;
	backoff_fail(&r->again, BACKOFF_MIN_MS, BACKOFF_MAX_MS, now_ms());
}

uint64_t repair_next_ms(const struct repair *r)
{
	return r->due && r->process.pidfd < 0 ? r->again.at_ms : UINT64_MAX;
}

int repair_start(struct repair *r, const struct repair_work *work, struct err *err)
{
	struct repair_work copy = *work;

	if (repair_next_ms(r) > now_ms())
		return 0;
	r->due = false;
	if (!subprocess_start(&r->process, put_back, &copy, err))
		return 0;
	again_later(r);
	return -1;
}

int repair_take(struct repair *r, struct err *err)
{
	_cleanup_(cleanup_free) char *bytes = NULL;
	struct unpack answer;

	if (subprocess_take(&r->process, &bytes, &answer, err)) {
		again_later(r);
		return -1;
	}
	backoff_reset(&r->again);
	return 0;
}
