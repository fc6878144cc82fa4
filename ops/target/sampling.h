// SPDX-License-Identifier: Apache-2.0
/* May a program sample at all? */
#ifndef OPS_TARGET_SAMPLING_H
#define OPS_TARGET_SAMPLING_H

#include "ops/target/session.h"

/*
 * ERR_FAILED, with its fix, when sampling is known to end some programs like this one, or to
 * hang them: all of sampling_may_unwind() and, where it was started with prof_gdump:true,
 * sampling_may_gdump(); and, where it is off, sampling_has_room() at that rate, or with OPS_LG_KEEP
 * at its own. What memory and code do not tell is asked by calls, with ERR_NOPROF and all
 * else that a gated run fails with; where none can be made, not to know is ERR_UNSAFE.
 */
int sampling_may_begin(struct session *s, int lg_sample, struct err *err) __must_check;
/* ERR_FAILED, with its fix, when this unwinder may end this program; UNWINDER_UNKNOWN too. */
int sampling_may_unwind(const struct session *s, enum jemalloc_unwinder unwinder, struct err *err)
	__must_check;
/* It never may: ERR_FAILED, with its fix. */
int sampling_may_gdump(const struct session *s, struct err *err) __must_check;
/*
 * Is there room for what jemalloc takes beside what the program asks for, when it samples every
 * 2^lg_sample bytes? ERR_FAILED, with the numbers and a fix.
 */
int sampling_has_room(const struct session *s, uint64_t lg_sample, struct err *err) __must_check;
/* The same of one that samples already, and is to sample more often than now. */
int sampling_may_be_finer(struct session *s, uint64_t lg_sample, struct err *err) __must_check;

#endif
