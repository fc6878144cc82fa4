// SPDX-License-Identifier: Apache-2.0
/*
 * A file that appears complete or not at all. It is written without a name (O_TMPFILE) and linked
 * when complete; links planted in a directory writable by others are never followed.
 */
#ifndef IO_OUTPUT_H
#define IO_OUTPUT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output {
	char *path; /* as the caller named it */
	char *name; /* its last component */
	int dir;    /* its directory */
	int fd;	    /* unnamed file in the directory; -1 without O_TMPFILE support */
	bool force;
};
#define OUTPUT_INIT                 \
	{                           \
		.dir = -1, .fd = -1 \
	}

/*
 * Check everything possible in advance: the directory exists, is writable and has space, and the
 * file does not exist, or is a regular file and `force` is set. ERR_OUTPUT otherwise. Call
 * output_close() also on failure.
 */
int output_open(struct output *o, const char *path, bool force, struct err *err) __must_check;
void output_close(struct output *o);

/* ERR_OUTPUT when the file system certainly has less free space than this. */
int output_room(const struct output *o, uint64_t bytes, struct err *err) __must_check;

/*
 * Write the first `len` bytes of `from` to the file. On failure ERR_OUTPUT, without a file;
 * ERR_UNSAFE after `deadline_ms` (CLOCK_MONOTONIC; 0: none).
 */
int output_commit(struct output *o, int from, uint64_t len, uint64_t deadline_ms, struct err *err)
	__must_check;

/* Write the first `len` bytes of `from` to `to`, before the deadline. `what` names it in errors. */
int output_copy(int to, const char *what, int from, uint64_t len, uint64_t deadline_ms,
		struct err *err) __must_check;

#endif
