// SPDX-License-Identifier: Apache-2.0
/* SIGINT, SIGTERM and SIGHUP as events: they end something long early, and with care. */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

#include "base/err.h"

#include <signal.h>
#include <stdbool.h>

/* Blocked as long as this is open, and taken from `fd`. */
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

/* Has one of them come? It is taken. */
bool signals_come(const struct signals *s);

#endif
