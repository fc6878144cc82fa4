// SPDX-License-Identifier: Apache-2.0
/*
 * Private to ops/: where the C library keeps the functions that threads call when they end, and
 * which of them is jemalloc's (sampler/target.c, sampler_end(), says why).
 */
#ifndef OPS_SAMPLE_END_GUARD_H
#define OPS_SAMPLE_END_GUARD_H

#include "ops/target/session.h"
#include "sampler/sampler.h"

/* Name of the mappings of a block, or at least its beginning. */
#define BLOCK_PATH "/memfd:" INJECTOR_MEMFD ":" SAMPLER_NAME

struct end_guard {
	uint64_t slot;	   /* in glibc's table; 0: unknown */
	uint64_t cleanup;  /* its content: tsd_cleanup(), or a function of a block */
	int64_t tsd_state; /* offset from a thread's thread pointer */
};

/* In the child that looks. `end`: what the slot may hold instead of tsd_cleanup(), or 0. */
void end_guard_find(const struct session *s, uint64_t end, struct end_guard *guard);

/*
 * Wait until no thread can be between reading the slot and calling what it held before: each has
 * since been in a system call, has run for a while, or has ended. ERR_UNSAFE when that is not seen
 * for one of them in time.
 */
int end_guard_wait(const struct session *s, struct err *err) __must_check;

#endif
