// SPDX-License-Identifier: Apache-2.0
/* Growth as text, shared by record, diff and leaks. */
#ifndef CLI_GROWTH_H
#define CLI_GROWTH_H

#include "cli/args.h"
#include "ops/growth.h"
#include "profile/format/format.h"

#include <stddef.h>
#include <stdint.h>

/* "+12.3M", "-512": a change of that many bytes. Returns `buf`; 24 bytes always suffice. */
const char *growth_bytes(double bytes, char *buf, size_t size);

/* "alloc (pool.c:12)", safe to print. Returns `buf`; GROWTH_CALL_SIZE bytes always suffice. */
#define GROWTH_CALL_SIZE 336
const char *growth_call(const struct profile_symbols *symbols, const struct profile_line *line,
			char *buf, size_t size);

/* "alloc (pool.c:12) < work < main": the calls of a stack, the innermost first, safe to print. */
#define GROWTH_CALLS_SIZE 2304
const char *growth_calls(const struct profile *profile, size_t stack, char *buf, size_t size);

/* Print how many functions were folded, unless none were, or with -q (profile/fold.h). */
int growth_folded(const struct args *args, size_t n, struct err *err) __must_check;

/* Print the difference: a table of functions, and the stacks that changed most. */
int growth_print(const struct args *args, const struct ops_diff *diff, struct err *err)
	__must_check;

/*
 * A sentence for the case that no growth is significant, but memory did grow by jemalloc's own
 * count (stats.allocated, less what sampling takes). Returns `buf`; NULL: not the case.
 */
#define GROWTH_COUNTED_SIZE 160
const char *growth_counted(const struct ops_diff *diff, char *buf, size_t size);

/*
 * The formats of --format, "pprof,folded" or NULL: a bit for each, 1 << enum profile_format.
 * ERR_USAGE: unknown, or unable to hold every difference.
 */
int growth_formats(const char *names, unsigned int *formats, struct err *err) __must_check;

/* The file names of a difference. Call growth_paths_fini() even if this fails. */
struct growth_paths {
	char *v[PROFILE_FORMATS];
	size_t n;
};
int growth_paths(unsigned int formats, const char *stem, struct growth_paths *paths,
		 struct err *err) __must_check;
void growth_paths_fini(struct growth_paths *paths);

/* Write the difference to a file in each of the formats, and print the file names. */
int growth_write(const struct args *args, unsigned int formats, const struct ops_diff *diff,
		 const struct growth_paths *paths, struct err *err) __must_check;

/* Check that growth_write() can write its files. ERR_OUTPUT: it cannot. */
int growth_check_files(const struct args *args, unsigned int formats, const char *stem,
		       struct err *err) __must_check;

#endif
