// SPDX-License-Identifier: Apache-2.0
/*
 * Private to serve/: runs that were killed are ended as they would have ended themselves, in a
 * process of its own. It is tried again, later each time, until nothing is left to put back.
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

/* What the process works on. */
struct repair_work {
	const struct broker *broker;
	const struct store *runs;
	struct ops_options options;
};

/* When repair_start() would start one, of now_ms(); UINT64_MAX: not until something is due. */
uint64_t repair_next_ms(const struct repair *r);

/* Start it if it is due and not at work. -1: it will be tried again; ERR_FAILED. */
int repair_start(struct repair *r, const struct repair_work *work, struct err *err) __must_check;

/* Wait until it has ended. -1: as above, with what store_repair() failed with. */
int repair_take(struct repair *r, struct err *err) __must_check;

#endif
