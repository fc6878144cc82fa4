// SPDX-License-Identifier: Apache-2.0
/* Private to ops/: the environment of a process, also where its own title has overwritten it. */
#ifndef OPS_ENVIRON_H
#define OPS_ENVIRON_H

#include "ops/session.h"

#include <stdbool.h>
#include <stddef.h>

enum environ_found {
	ENVIRON_UNREADABLE,
	ENVIRON_ABSENT,
	ENVIRON_INITIAL, /* it was started with it */
	ENVIRON_NOW,	 /* it has it now, and what it was started with is not known any more */
};

/*
 * The variable `name`, cut to size - 1 bytes: from the initial environment,
 * else from where the C library's `environ` leads now. Programs that show
 * their state as their title (setproctitle(3)) overwrite the initial one and
 * keep a copy. Reads memory only.
 */
enum environ_found environ_get(const struct session *s, const char *name, char *buf, size_t size);

#endif
