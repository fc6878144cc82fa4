// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: a guard of the service, whose profiles become runs and events. */
#ifndef SERVE_RULES_H
#define SERVE_RULES_H

#include "serve/feed.h"
#include "serve/store.h"

struct rule_work {
	const struct serve_rule *rule;
	const struct store *runs;
};

/* A feed_fn; `ctx` is a struct rule_work. `number` in its messages is the run's, or 0. */
int rules_run(const void *ctx, const struct feed_out *out, int stop_fd, struct err *err);

#endif
