// SPDX-License-Identifier: Apache-2.0
/* Waiting within a recording: for the time to pass, a signal, or the end of the target. */
#ifndef OPS_RECORD_WAIT_H
#define OPS_RECORD_WAIT_H

#include "base/err.h"
#include "process/proc.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* The signals that end a recording early, blocked as long as it goes on. */
struct record_signals {
	int fd;
	sigset_t before;
};
#define RECORD_SIGNALS_INIT \
	{                   \
		.fd = -1    \
	}

int record_signals_open(struct record_signals *s, struct err *err) __must_check;
void record_signals_close(struct record_signals *s);

/* Has one of them come? It is taken. */
bool record_signals_come(const struct record_signals *s);

enum record_wake { RECORD_TIME, RECORD_SIGNAL, RECORD_ENDED };

/* Until `until_ms` of now_ms(), or less: the first of the three that happens. */
enum record_wake record_wait(const struct record_signals *s, const struct proc *p,
			     uint64_t until_ms);

#endif
