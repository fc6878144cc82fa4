// SPDX-License-Identifier: Apache-2.0
/*
 * The limits that jeprof-ctl itself was started under (setrlimit(2)): they say nothing of a target.
 *
 * All our processes have the same need of stack: own_limits_take() raises the soft limit to the
 * usual 8 MiB, or as far as the hard limit goes, before the first fork(2). It takes effect at once,
 * as the kernel looks at it whenever a stack grows. Other programs get back the limit that we had.
 */
#ifndef BASE_OWN_LIMITS_H
#define BASE_OWN_LIMITS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* ERR_FAILED, `own`: there is not enough stack or memory for any command. */
int own_limits_take(struct err *err) __must_check;

/* The soft limit of the stack as it was, for a program that is started now; and ours again. */
void own_limits_lend(void);
void own_limits_take_back(void);

/*
 * The limits of memory, as in "RLIMIT_AS is 30000 KiB"; false where there is none. Where memory
 * runs out under one, a process of ours may end by a signal, as it does from damaged data.
 */
bool own_limits_of_memory(char *buf, size_t size);

#endif
