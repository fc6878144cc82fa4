// SPDX-License-Identifier: Apache-2.0
/* The options of profiling: their names and values, and where an image keeps them. */
#ifndef JEMALLOC_OPTIONS_H
#define JEMALLOC_OPTIONS_H

#include "base/tristate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The options of profiling that are numbers: what they were set to stands in variables. */
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

/* What takes the stack of each sample: configure decides. */
enum jemalloc_unwinder {
	UNWINDER_UNKNOWN,
	/*
	 * __builtin_return_address(0 to 127), the last choice of configure. It follows what it
	 * takes for frame pointers wherever they lead, so that code without them ends the program
	 * (BT_FRAME in src/prof.c, in src/prof_sys.c from 5.3.0 on).
	 */
	UNWINDER_COMPILER,
	UNWINDER_LIBGCC,
	UNWINDER_LIBUNWIND,
	UNWINDER_FRAMES, /* frame pointers within the thread's stack, from 5.3.1 on */
};

/* The name of an option after "opt.": "lg_prof_sample". */
const char *jemalloc_opt_name(enum jemalloc_opt opt);

/* How many bytes its variable has: 1 for a bool, else 8. */
size_t jemalloc_opt_size(enum jemalloc_opt opt);

/* The value in one byte or eight, the lowest first; false if the option cannot have it. */
bool options_value(enum jemalloc_opt opt, const unsigned char bytes[8], int64_t *value);

/* By the values of config.prof_libgcc, config.prof_libunwind and config.prof_frameptr. */
enum jemalloc_unwinder jemalloc_unwinder(enum tristate libgcc, enum tristate libunwind,
					 enum tristate frameptr);

/* Private to jemalloc/: where the variables are, as the code of an image says. */

struct scan;

/*
 * The variable behind opt.prof: the byte that its handler reads, which what
 * handles prof.dump reads as well. 0 if unknown.
 */
uint64_t options_find_prof(struct scan *s);

/*
 * The only variable of 8 bytes that the handler of the option `name` ("tcache_gc_incr_bytes")
 * reads. 0 if unknown.
 */
uint64_t options_find_word(struct scan *s, const char *name);

/*
 * The variables behind the other options: the only one that an option's
 * handler reads, of the option's size and with a value that the option can
 * have, if other code near mallctl writes it or takes its address, as what
 * reads the configuration does, and if it is no other option's. Those found
 * are set in `opt`; what is not 0 there already is left alone.
 */
void options_find(struct scan *s, uint64_t mallctl, uint64_t opt[JEMALLOC_OPTS]);

/*
 * The variable behind prof.active: the one byte that what handles it both
 * reads and sets, another one than that of prof.thread_active_init. 0 if
 * unknown.
 */
uint64_t options_find_active(struct scan *s);

/* What takes stacks, by the values that the handlers of config.prof_* were compiled with. */
enum jemalloc_unwinder options_find_unwinder(struct scan *s);

/* Does `entry`, a function that allocates, or what it calls, read the byte at `addr`? */
bool options_allocation_reads(struct scan *s, uint64_t entry, uint64_t addr);

#endif
