// SPDX-License-Identifier: Apache-2.0
/* Private to profile/: its table of threads. */
#ifndef PROFILE_THREADS_H
#define PROFILE_THREADS_H

#include "profile/profile.h"

/* Put the threads in the order of their ids. ERR_FAILED without memory. */
int threads_sort(struct profile *p, struct err *err) __must_check;

#endif
