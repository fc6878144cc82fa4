// SPDX-License-Identifier: Apache-2.0
/*
 * Files as the target sees them: in its root, from its working directory.
 * Every path is resolved inside the target's root (openat2(2)), so that links
 * in there cannot lead out of it.
 */
#ifndef OPS_INSIDE_H
#define OPS_INSIDE_H

#include "base/err.h"
#include "target/proc.h"

#include <stdbool.h>
#include <stdint.h>

struct inside {
	char *path; /* absolute, in the target's root */
	char *name; /* its last component */
	int dir;    /* its folder */
};
#define INSIDE_INIT       \
	{                 \
		.dir = -1 \
	}

/* Find the folder of `path`. ERR_OUTPUT when there is none. inside_close() is due also then. */
int inside_open(struct inside *in, const struct proc *p, const char *path, struct err *err)
	__must_check;
void inside_close(struct inside *in);

/* ERR_OUTPUT when the target surely cannot write there: rights, read-only, full. */
int inside_may_write(const struct inside *in, const struct proc *p, struct err *err) __must_check;

/* ERR_OUTPUT when the file exists and `force` is not set, or is not a regular file. */
int inside_absent(const struct inside *in, bool force, struct err *err) __must_check;

/* The size of the file; false when there is none or it is not a regular file. */
bool inside_size(const struct inside *in, uint64_t *bytes);

/*
 * The newest dump "NAME.NSPID.*.m*.heap" in the folder not older than `since`
 * (seconds, CLOCK_REALTIME). NULL if there is none; the caller frees it.
 */
char *inside_find_dump(const struct inside *in, const struct proc *p, int64_t since);

/* Does the target's root have a /proc? What is unknown counts as yes. */
bool inside_has_proc(const struct proc *p);

#endif
