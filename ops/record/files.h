// SPDX-License-Identifier: Apache-2.0
/* The files that a recording writes. */
#ifndef OPS_RECORD_FILES_H
#define OPS_RECORD_FILES_H

#include "io/output.h"
#include "ops/ops.h"
#include "process/proc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_files {
	struct output first, last; /* STEM.base.heap and STEM.heap */
	char *stem;
	bool force;
	unsigned int keep;     /* how many of the series stay; 0: all */
	unsigned int n_series; /* how many were written so far; the newest are there */
	uint64_t largest;      /* of the dumps so far, in bytes */
};
#define RECORD_FILES_INIT                                 \
	{                                                 \
		.first = OUTPUT_INIT, .last = OUTPUT_INIT \
	}

/*
 * Check, and open without a name, the first and the last file, and check those
 * of the series: a recording is not to fail half-way because of a file that was
 * there. ERR_OUTPUT. record_files_close() is due also when this fails.
 */
int record_files_open(struct record_files *f, const struct proc *p,
		      const struct ops_record_request *request, struct err *err) __must_check;
void record_files_close(struct record_files *f);

/* Is there room for one more dump, if it is up to twice as large as those before? ERR_OUTPUT. */
int record_files_room(const struct record_files *f, struct err *err) __must_check;

/* Write the first, or the last, file: `bytes` of `fd`, before the deadline. */
int record_files_put(struct record_files *f, struct output *o, int fd, uint64_t bytes,
		     uint64_t deadline_ms, struct err *err) __must_check;

/* The next file of the series, STEM.NUMBER.heap; removes the oldest when there are too many. */
int record_files_next(struct record_files *f, int fd, uint64_t bytes, uint64_t deadline_ms,
		      struct err *err) __must_check;

/* The name of number `i`, from 1, of the series, which the caller frees; NULL without memory. */
char *record_files_name(const struct record_files *f, unsigned int i);

/* The recording failed: say in the error's fix which files it has written. */
void record_files_left(const struct record_files *f, struct err *err);

/* The number of the oldest one of the series that is still there. */
unsigned int record_files_oldest(const struct record_files *f);

#endif
