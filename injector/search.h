// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: finds a thread that may be borrowed, and sees the run through. */
#ifndef INJECTOR_SEARCH_H
#define INJECTOR_SEARCH_H

#include "injector/tracer.h"

/*
 * The whole life of the tracer, a new process of `controller`, which it ends with: it keeps none of
 * the standard streams and takes no signal. Fills t->shared.
 */
void tracer_main(struct tracer *t, pid_t controller);

#endif
