// SPDX-License-Identifier: Apache-2.0
/*
 * The resource limits of jeprof-ctl itself (setrlimit(2)), which are unrelated to a target.
 *
 * All our processes need the same stack: own_limits_take() raises the soft limit to the usual 8
 * MiB, or to the hard limit, before the first fork(2). That takes effect at once, as the kernel
 * checks the limit whenever a stack grows. Other programs are started with the original limit.
 */
#ifndef BASE_OWN_LIMITS_H
#define BASE_OWN_LIMITS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* ERR_FAILED, `own`: there is not enough stack or memory for any command. */
int own_limits_take(struct err *err) __must_check;

/*
 * If memory runs out, have the kernel end us, and not the target: both may be in one memory cgroup,
 * where ours counts towards the target's limit (proc_pid_oom_score_adj(5)). Inherited by our
 * processes. Does nothing where it cannot be set.
 */
void own_limits_die_first(void);

/* Restore what was changed of the above while a program is started; and set ours again. */
void own_limits_lend(void);
void own_limits_take_back(void);

/*
 * Our memory limits, as in "RLIMIT_AS is 30000 KiB"; false if there are none. If memory runs out
 * under one, a process of ours may be killed by a signal, as by corrupt data.
 */
bool own_limits_of_memory(char *buf, size_t size);

#endif
