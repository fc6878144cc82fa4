// SPDX-License-Identifier: Apache-2.0
/*
 * Graceful interruption of long operations. They get a descriptor, `stop_fd`, that becomes readable
 * when they should stop; a program creates one for SIGINT, SIGTERM and SIGHUP.
 */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

#include "base/err.h"

#include <signal.h>
#include <stdbool.h>

/* The signals are blocked as long as this is open; `fd` is the stop_fd. */
struct signals {
	int fd;
	sigset_t before;
};
#define SIGNALS_INIT     \
	{                \
		.fd = -1 \
	}

int signals_open(struct signals *s, struct err *err) __must_check;
/* Consumes all pending signals: pressing Ctrl-C twice means the same as once. */
void signals_close(struct signals *s);

/* Should the operation stop? Never for -1. Consumes nothing. */
bool stop_asked(int stop_fd);

#endif
