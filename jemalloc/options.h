// SPDX-License-Identifier: Apache-2.0
/* The profiling options: their names and values, and their variables in an image. */
#ifndef JEMALLOC_OPTIONS_H
#define JEMALLOC_OPTIONS_H

#include "base/tristate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numeric profiling options, whose values are kept in variables. */
enum jemalloc_opt {
	OPT_PROF,
	OPT_PROF_ACTIVE,
	OPT_PROF_THREAD_ACTIVE_INIT,
	OPT_LG_PROF_SAMPLE,
	OPT_LG_PROF_INTERVAL,
	OPT_PROF_GDUMP,
	OPT_PROF_FINAL,
	OPT_PROF_LEAK,
	OPT_PROF_ACCUM,
	JEMALLOC_OPTS
};

/* How jemalloc unwinds the stack of a sample; chosen by configure. */
enum jemalloc_unwinder {
	UNWINDER_UNKNOWN,
	/*
	 * __builtin_return_address(0 to 127), the fallback of configure. It follows supposed frame
	 * pointers without any check, so that code without them crashes the program (BT_FRAME in
	 * src/prof.c, in src/prof_sys.c from 5.3.0 on).
	 */
	UNWINDER_COMPILER,
	UNWINDER_LIBGCC,
	UNWINDER_LIBUNWIND,
	UNWINDER_FRAMES, /* frame pointers within the thread's stack, from 5.3.1 on */
};

/* The name of an option after "opt.": "lg_prof_sample". */
const char *jemalloc_opt_name(enum jemalloc_opt opt);

/* Size of its variable in bytes: 1 for a bool, else 8. */
size_t jemalloc_opt_size(enum jemalloc_opt opt);

/* Decode the value from one or eight little-endian bytes; false if invalid for the option. */
bool options_value(enum jemalloc_opt opt, const unsigned char bytes[8], int64_t *value);

/* Derived from config.prof_libgcc, config.prof_libunwind and config.prof_frameptr. */
enum jemalloc_unwinder jemalloc_unwinder(enum tristate libgcc, enum tristate libunwind,
					 enum tristate frameptr);

/* Private to jemalloc/: find the variables through the code of an image. */

struct scan;

/*
 * The variable behind opt.prof: the byte that its handler reads, if the handler of prof.dump reads
 * it too. 0 if unknown.
 */
uint64_t options_find_prof(struct scan *s);

/*
 * The only variable of 8 bytes that the handler of the option `name` ("tcache_gc_incr_bytes")
 * reads. 0 if unknown.
 */
uint64_t options_find_word(struct scan *s, const char *name);

/*
 * The variables behind the other options: the only one of the option's size that the option's
 * handler reads, if its value is valid, if other code near mallctl writes it or takes its address,
 * as the configuration parser does, and if it is not another option's. Those found are set in
 * `opt`, where non-zero entries are left unchanged.
 */
void options_find(struct scan *s, uint64_t mallctl, uint64_t opt[JEMALLOC_OPTS]);

/*
 * The variable behind prof.active: the only byte that its handler both reads and sets, if it
 * differs from that of prof.thread_active_init. 0 if unknown.
 */
uint64_t options_find_active(struct scan *s);

/* The unwinder, from the constants in the handlers of config.prof_*. */
enum jemalloc_unwinder options_find_unwinder(struct scan *s);

/* Does the allocation function `entry`, or a function that it calls, read the byte at `addr`? */
bool options_allocation_reads(struct scan *s, uint64_t entry, uint64_t addr);

#endif
