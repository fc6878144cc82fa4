// SPDX-License-Identifier: Apache-2.0
/*
 * Mutual exclusion between processes of ours. Each inherits the descriptor of turn_make() from
 * their common parent, and a turn is an fcntl(2) lock on it: it ends with the holder, in whatever
 * way, and children do not inherit it. Closing any descriptor of that file releases it too.
 */
#ifndef BASE_TURN_H
#define BASE_TURN_H

#include "base/err.h"

enum turn {
	TURN_TARGET, /* to have a target open: at most one of them is stopped at a time */
	TURN_REPORT, /* to read profiles: limits memory use to one at a time */
};

/* -1 with errno, without err_raise(). */
int turn_make(void);

/*
 * Wait for the turn, or release it. With `fd` 0 there are no other processes, and nothing is done.
 * Taking a turn twice, or releasing it twice, is harmless.
 */
void turn_take(int fd, enum turn turn);
void turn_give(int fd, enum turn turn);

#endif
