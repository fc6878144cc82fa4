// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: finds a thread that may be borrowed, and carries out the run. */
#ifndef INJECTOR_SEARCH_H
#define INJECTOR_SEARCH_H

#include "injector/tracer.h"

/*
 * Main function of the tracer, a new child of `controller`, which it does not outlive. It keeps
 * none of the standard streams and blocks all signals. Fills t->shared.
 */
void tracer_main(struct tracer *t, pid_t controller);

#endif
