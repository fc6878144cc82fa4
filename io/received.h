// SPDX-License-Identifier: Apache-2.0
/*
 * What a target wrote and handed over as a descriptor. The target may still hold that, and
 * write to it, cut it or punch holes into it at any time: so it is copied once, by read(2), into
 * a memory file of our own, and only that is looked at. The target's is never written to.
 */
#ifndef IO_RECEIVED_H
#define IO_RECEIVED_H

#include "base/err.h"

#include <stdint.h>

struct received_rules {
	const char *what;     /* "the target's profile" */
	uint64_t max_bytes;   /* no byte is read of what is larger */
	uint64_t deadline_ms; /* CLOCK_MONOTONIC */
};

/*
 * May a file be read? *bytes is its size. ERR_FAILED: it is no regular file, larger than
 * max_bytes, or has holes, which cost the target nothing, and jemalloc leaves none.
 */
int received_check(int fd, const struct received_rules *rules, uint64_t *bytes, struct err *err)
	__must_check;

/*
 * Copy all of `from` to a memory file, which the caller closes, its size in *bytes. As
 * received_check(); ERR_FAILED also when it changes meanwhile, ERR_UNSAFE after the deadline.
 */
int received_copy(int from, const struct received_rules *rules, int *to, uint64_t *bytes,
		  struct err *err) __must_check;

#endif
