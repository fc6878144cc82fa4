// SPDX-License-Identifier: Apache-2.0
/*
 * An operation in a process of its own, for a caller that runs several at once, and continues
 * meanwhile. It has its own process group. It ends with care when we request it
 * (subprocess_stop()), or when the kernel does because we were killed: both make its stop_fd
 * readable.
 */
#ifndef OPS_APART_SUBPROCESS_H
#define OPS_APART_SUBPROCESS_H

#include "base/err.h"
#include "base/pack.h"

#include <sys/types.h>

struct subprocess {
	pid_t pid;
	int pidfd;  /* readable when it has ended; -1: none */
	int answer; /* a memory file */
};
#define SUBPROCESS_INIT                   \
	{                                 \
		.pidfd = -1, .answer = -1 \
	}

/* The operation. If it returns 0, its answer is what it packed. */
typedef int subprocess_fn(void *ctx, int stop_fd, struct pack *answer, struct err *err);

/*
 * Start it. The caller has SIGINT, SIGTERM and SIGHUP blocked (base/signals.h), and the operation
 * gets a copy of its memory (fork(2)). ERR_FAILED.
 */
int subprocess_start(struct subprocess *w, subprocess_fn *fn, void *ctx, struct err *err)
	__must_check;

/* Request it to end early. */
void subprocess_stop(const struct subprocess *w);

/*
 * Wait until it has ended, and take its answer, whose memory, in *bytes, the caller frees. Fails
 * with the operation's own error; ERR_FAILED when it died.
 */
int subprocess_take(struct subprocess *w, char **bytes, struct unpack *answer, struct err *err)
	__must_check;

#endif
