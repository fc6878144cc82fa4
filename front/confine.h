// SPDX-License-Identifier: Apache-2.0
/* What the front gives up before it hears of anybody. */
#ifndef FRONT_CONFINE_H
#define FRONT_CONFINE_H

#include "base/err.h"

/*
 * A user of its own, no capability and none to be had again, an empty root directory, limits, and
 * by seccomp(2) only what serves connections that it is given: it opens, connects, starts and
 * signals nothing. Who is not root keeps user and root directory. What listens and waits has to be
 * open before. Fails with ERR_FAILED; then it may be confined in part.
 */
int front_confine(struct err *err) __must_check;

#endif
