// SPDX-License-Identifier: Apache-2.0
/*
 * Processes of ours that do something one at a time. Each has the descriptor of turn_make() from
 * their common parent, and a turn is a lock of fcntl(2) on it: it ends with who has it, in
 * whatever way, and children do not inherit it. Closing any descriptor of that file ends it too.
 */
#ifndef BASE_TURN_H
#define BASE_TURN_H

#include "base/err.h"

enum turn {
	TURN_TARGET, /* to have a target open: one of them at most is stopped at a time */
	TURN_REPORT, /* to read profiles: one needs memory at a time */
};

/* -1 without err_raise(): see errno. */
int turn_make(void);

/*
 * Wait for the turn, or give it up. With `fd` 0 there are no others, and nothing is done. Taking a
 * turn that one has already, or giving it up twice, is harmless.
 */
void turn_take(int fd, enum turn turn);
void turn_give(int fd, enum turn turn);

#endif
