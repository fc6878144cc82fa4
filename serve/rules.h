// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: a guard that is the service's own, whose profiles are runs, and events. */
#ifndef SERVE_RULES_H
#define SERVE_RULES_H

#include "serve/feed.h"
#include "serve/store.h"

struct rule_work {
	const struct serve_rule *rule;
	const struct store *runs;
};

/* A feed_fn. `ctx` is such a work; what it tells has the number of the run, or 0. */
int rules_run(const void *ctx, const struct feed_out *out, int stop_fd, struct err *err);

#endif
