// SPDX-License-Identifier: Apache-2.0
/*
 * Ending something long early, and with care. Operations are handed a descriptor, `stop_fd`, which
 * is readable when they are to end; a program makes one of SIGINT, SIGTERM and SIGHUP.
 */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

#include "base/err.h"

#include <signal.h>
#include <stdbool.h>

/* Blocked as long as this is open; `fd` is the stop_fd. */
struct signals {
	int fd;
	sigset_t before;
};
#define SIGNALS_INIT     \
	{                \
		.fd = -1 \
	}

int signals_open(struct signals *s, struct err *err) __must_check;
/* Whoever pressed Ctrl-C twice wanted the same twice: all that came are taken. */
void signals_close(struct signals *s);

/* Is it to end? Never for -1. Nothing is taken from it. */
bool stop_asked(int stop_fd);

#endif
