// SPDX-License-Identifier: Apache-2.0
/*
 * Files as the target sees them: in its root, from its working directory. Every path is resolved
 * inside the target's root (openat2(2)), so that links there cannot lead out of it.
 *
 * Its file systems may never answer. So each question is asked by a child (sandbox/confined.h), for
 * as long as the command has time; a child that sleeps in the kernel is left behind. The error is
 * ERR_UNSAFE then.
 */
#ifndef OPS_TARGET_INSIDE_H
#define OPS_TARGET_INSIDE_H

#include "base/err.h"
#include "ops/target/session.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct inside {
	const struct session *s; /* the caller's */
	char *path;		 /* absolute, in the target's root */
	char *name;		 /* its last component */
	int dir;		 /* its folder (O_PATH) */
};
#define INSIDE_INIT       \
	{                 \
		.dir = -1 \
	}

/*
 * Find the folder of `path`. ERR_OUTPUT when there is none or, with `to_write`, when the target
 * certainly cannot write there: rights, read-only, full. inside_close() is due even after a
 * failure.
 */
int inside_open(struct inside *in, const struct session *s, const char *path, bool to_write,
		struct err *err) __must_check;
void inside_close(struct inside *in);

/* ERR_OUTPUT when the file exists and `force` is not set, or is not a regular file. */
int inside_absent(const struct inside *in, bool force, struct err *err) __must_check;

/* The size of the file; false when there is none or it is not a regular file. */
bool inside_size(const struct inside *in, uint64_t *bytes);

/* Remove the file. A failure is ignored. */
void inside_remove(const struct inside *in);

/* An O_PATH handle of it, owned by the caller; only a child may inspect it. */
int inside_handle(const struct inside *in, int *handle, struct err *err) __must_check;

/* A dump by prefix in the folder, and when it was written. */
struct inside_dump {
	char name[256];
	struct timespec written;
};

/*
 * The newest dump "NAME.PID.*.m*.heap" of this process in the folder. False,
 * and an empty name, when there is none.
 */
bool inside_newest_dump(const struct inside *in, struct inside_dump *dump);

/* Does the target's root have a /proc? What is unknown counts as yes. */
bool inside_has_proc(const struct session *s);

#endif
