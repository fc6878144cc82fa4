// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: finds a thread that may be borrowed, and sees the run through. */
#ifndef INJECTOR_SEARCH_H
#define INJECTOR_SEARCH_H

#include "injector/tracer.h"

/* The tracer's whole life; fills t->shared. */
void tracer_main(struct tracer *t);

#endif
