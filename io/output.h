// SPDX-License-Identifier: Apache-2.0
/*
 * A file that appears complete or not at all. It is written without a name
 * (O_TMPFILE) and linked when all of it is there; links planted in a folder
 * that others may write to are never followed.
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
	int dir;    /* the folder */
	int fd;	    /* nameless, in the folder; -1 where the file system has no O_TMPFILE */
	bool force;
};
#define OUTPUT_INIT                 \
	{                           \
		.dir = -1, .fd = -1 \
	}

/*
 * Check everything that can be checked: the folder exists and may be written,
 * has room, and the file does not exist, or is a regular file and `force` is
 * set. ERR_OUTPUT otherwise. output_close() is due also when this fails.
 */
int output_open(struct output *o, const char *path, bool force, struct err *err) __must_check;
void output_close(struct output *o);

/* ERR_OUTPUT when the file system has surely less room than this. */
int output_room(const struct output *o, uint64_t bytes, struct err *err) __must_check;

/*
 * Write the first `len` bytes of `from` as the file, if there is room. ERR_OUTPUT, and no file,
 * when that fails; ERR_UNSAFE after `deadline_ms` (CLOCK_MONOTONIC), which is 0 for none.
 */
int output_commit(struct output *o, int from, uint64_t len, uint64_t deadline_ms, struct err *err)
	__must_check;

/* Write the first `len` bytes of `from` to `to`, before the deadline. `what` names it in errors. */
int output_copy(int to, const char *what, int from, uint64_t len, uint64_t deadline_ms,
		struct err *err) __must_check;

#endif
