// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: dumps as events. */
#ifndef SERVE_WATCHING_H
#define SERVE_WATCHING_H

#include "serve/feed.h"

/* A feed_fn: reports all dumps on this machine (ops/watch/watch.h). `ctx`: a struct ops_options. */
int watching_run(const void *ctx, const struct feed_out *out, int stop_fd, struct err *err);

#endif
