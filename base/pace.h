// SPDX-License-Identifier: Apache-2.0
/*
 * Working without being in the way. A look at a process takes some
 * milliseconds of a processor. Taken in one go, whoever waits for that
 * processor waits for all of it, and the target may be one of them.
 */
#ifndef BASE_PACE_H
#define BASE_PACE_H

/*
 * To be called now and then, never while a thread of the target stands: let
 * others have the processor first (sched_yield(2)). Where they keep it for
 * long, on a machine that has too much to do, it soon does nothing any more:
 * all the calls of a thread wait PACE_MAX_US together, and one turn.
 */
#define PACE_MAX_US 20000
void pace(void);

#endif
