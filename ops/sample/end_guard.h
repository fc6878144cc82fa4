// SPDX-License-Identifier: Apache-2.0
/*
 * Private to ops/: where the C library keeps what threads call when they end, and what of
 * that is jemalloc's (sampler/target.c, sampler_end(), says why).
 */
#ifndef OPS_SAMPLE_END_GUARD_H
#define OPS_SAMPLE_END_GUARD_H

#include "ops/target/session.h"
#include "sampler/sampler.h"

/* How the mappings of a block are called, at least at the beginning. */
#define BLOCK_PATH "/memfd:" INJECTOR_MEMFD ":" SAMPLER_NAME

struct end_guard {
	uint64_t slot;	   /* of the table of glibc's; 0: it is not known */
	uint64_t cleanup;  /* what is there: tsd_cleanup(), or a function of a block */
	int64_t tsd_state; /* of a thread, from its thread pointer */
};

/* In the child that looks. `end` is what may be there instead of tsd_cleanup(), or 0. */
void end_guard_find(const struct session *s, uint64_t end, struct end_guard *guard);

/*
 * Wait until no thread is just where it has read the slot and not called yet what was there: each
 * has been in a system call since, or has run for a while, or ended. ERR_UNSAFE when that cannot be
 * seen of one of them in time.
 */
int end_guard_wait(const struct session *s, struct err *err) __must_check;

#endif
