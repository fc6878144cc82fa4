// SPDX-License-Identifier: Apache-2.0
/*
 * Yields the CPU now and then. Examining a process takes a few milliseconds of CPU time; if used at
 * once, all other threads waiting for that CPU are delayed, perhaps the target's as well.
 */
#ifndef BASE_PACE_H
#define BASE_PACE_H

/*
 * Call it now and then, but never while a thread of the target is stopped: yields the CPU
 * (sched_yield(2)). On an overloaded machine it soon has no effect any more: all calls of a thread
 * together wait for at most PACE_MAX_US plus one time slice.
 */
#define PACE_MAX_US 20000
void pace(void);

#endif
