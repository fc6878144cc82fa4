// SPDX-License-Identifier: Apache-2.0
/*
 * A file written by a target and received as a descriptor. The target may still write to it,
 * truncate it or punch holes into it at any time: so it is copied once, by read(2), to a memory
 * file of our own, and only that is used. The target's file is never written to.
 */
#ifndef IO_RECEIVED_H
#define IO_RECEIVED_H

#include "base/err.h"

#include <stdint.h>

struct received_rules {
	const char *what;     /* "the target's profile" */
	uint64_t max_bytes;   /* larger files are not read at all */
	uint64_t deadline_ms; /* CLOCK_MONOTONIC */
};

/*
 * Is it safe to read the file? *bytes is its size. ERR_FAILED: it is not a regular file, larger
 * than max_bytes, or sparse: holes cost the target nothing, and jemalloc leaves none.
 */
int received_check(int fd, const struct received_rules *rules, uint64_t *bytes, struct err *err)
	__must_check;

/*
 * Copy all of `from` to a memory file, which the caller closes, with its size in *bytes. Errors as
 * for received_check(); also ERR_FAILED when it changes meanwhile, ERR_UNSAFE after the deadline.
 */
int received_copy(int from, const struct received_rules *rules, int *to, uint64_t *bytes,
		  struct err *err) __must_check;

#endif
