// SPDX-License-Identifier: Apache-2.0
/* What the front gives up before it accepts connections. */
#ifndef FRONT_CONFINE_H
#define FRONT_CONFINE_H

#include "base/err.h"

/*
 * Change to a separate user, an empty root directory and resource limits, drop all capabilities for
 * good, and restrict system calls to those for connections it is given: it cannot open, connect,
 * execute or signal anything. Without root, the user and the root directory stay. Descriptors such
 * as the epoll must be open before. On failure (ERR_FAILED) it may be partly confined.
 */
int front_confine(struct err *err) __must_check;

#endif
