// SPDX-License-Identifier: Apache-2.0
/* Is it safe for a program to sample? */
#ifndef OPS_TARGET_SAMPLING_H
#define OPS_TARGET_SAMPLING_H

#include "ops/target/session.h"

/*
 * ERR_FAILED, with its fix, when sampling is known to crash or hang some programs like this one:
 * all of sampling_may_unwind() and, if it was started with prof_gdump:true, sampling_may_gdump();
 * and, if sampling is off, sampling_has_room() at that rate, or with OPS_LG_KEEP at its own. What
 * memory and code do not show is asked by calls, with ERR_NOPROF and the other errors of a gated
 * run; if no call can be made, an unknown answer is ERR_UNSAFE.
 */
int sampling_may_begin(struct session *s, int lg_sample, struct err *err) __must_check;
/* ERR_FAILED, with its fix, if this unwinder may crash this program; also for UNWINDER_UNKNOWN. */
int sampling_may_unwind(const struct session *s, enum jemalloc_unwinder unwinder, struct err *err)
	__must_check;
/* Always fails: ERR_FAILED, with its fix. */
int sampling_may_gdump(const struct session *s, struct err *err) __must_check;
/*
 * Is there room for what jemalloc needs beside the program's own allocations when it samples every
 * 2^lg_sample bytes? ERR_FAILED, with the numbers and a fix.
 */
int sampling_has_room(const struct session *s, uint64_t lg_sample, struct err *err) __must_check;
/* The same for one that already samples, and is to sample more often. */
int sampling_may_be_finer(struct session *s, uint64_t lg_sample, struct err *err) __must_check;

/*
 * Set a warning, unless there is one: not all limits are visible; and samples will be missed,
 * because each thread keeps the coarser rate `before` (lg) until its next sample.
 */
void sampling_warn_hidden(const struct session *s, struct err *warning);
void sampling_warn_finer(const struct session *s, uint64_t before, uint64_t after,
			 struct err *warning);

#endif
