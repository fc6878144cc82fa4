// SPDX-License-Identifier: Apache-2.0
/*
 * Private to serve/: restores the processes of killed runs, in a subprocess. Repeated with a
 * backoff until nothing is left to restore.
 */
#ifndef SERVE_REPAIR_H
#define SERVE_REPAIR_H

#include "base/backoff.h"
#include "ops/apart/subprocess.h"
#include "serve/store.h"

#include <stdbool.h>
#include <stdint.h>

struct repair {
	struct subprocess process;
	bool due;
	struct backoff again;
};
#define REPAIR_INIT                        \
	{                                  \
		.process = SUBPROCESS_INIT \
	}

struct broker;

struct repair_work {
	const struct broker *broker;
	const struct store *runs;
	struct ops_options options;
};

/* When repair_start() would start it, of now_ms(); UINT64_MAX: nothing is due, or it is running. */
uint64_t repair_next_ms(const struct repair *r);

/* Start it if it is due and not running. -1: ERR_FAILED, and it will be tried again. */
int repair_start(struct repair *r, const struct repair_work *work, struct err *err) __must_check;

/* Wait for its end. -1: likewise, with the error of store_repair(). */
int repair_take(struct repair *r, struct err *err) __must_check;

#endif
