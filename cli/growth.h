// SPDX-License-Identifier: Apache-2.0
/* Growth for people: what record, diff and leaks print alike. */
#ifndef CLI_GROWTH_H
#define CLI_GROWTH_H

#include "cli/args.h"
#include "ops/growth.h"
#include "profile/format/format.h"

#include <stddef.h>
#include <stdint.h>

/* "+12.3M", "-512": a change of that many bytes. Returns `buf`; 24 bytes always do. */
const char *growth_bytes(double bytes, char *buf, size_t size);

/* "alloc (pool.c:12)", safe to print. Returns `buf`; GROWTH_CALL_SIZE bytes always do. */
#define GROWTH_CALL_SIZE 336
const char *growth_call(const struct profile_symbols *symbols, const struct profile_line *line,
			char *buf, size_t size);

/* "alloc (pool.c:12) < work < main": the calls of a stack, the innermost first, safe to print. */
#define GROWTH_CALLS_SIZE 2304
const char *growth_calls(const struct profile *profile, size_t stack, char *buf, size_t size);

/* How many functions were folded, unless none was or with -q (profile/fold.h). */
int growth_folded(const struct args *args, size_t n, struct err *err) __must_check;

/* The difference: a table of functions and the stacks that changed most. */
int growth_print(const struct args *args, const struct ops_diff *diff, struct err *err)
	__must_check;

/*
 * A sentence where nothing that grew is marked as significant, and yet memory grew, as jemalloc
 * counts and does not sample (stats.allocated, less what sampling takes). NULL: there is nothing
 * to say. Returns `buf`.
 */
#define GROWTH_COUNTED_SIZE 160
const char *growth_counted(const struct ops_diff *diff, char *buf, size_t size);

/*
 * The formats of --format, "pprof,folded" or NULL: a bit for each, 1 << enum profile_format.
 * ERR_USAGE: there is none of a name, or it cannot hold every difference.
 */
int growth_formats(const char *names, unsigned int *formats, struct err *err) __must_check;

/* The names of the files of a difference. growth_paths_fini() is due also when this fails. */
struct growth_paths {
	char *v[PROFILE_FORMATS];
	size_t n;
};
int growth_paths(unsigned int formats, const char *stem, struct growth_paths *paths,
		 struct err *err) __must_check;
void growth_paths_fini(struct growth_paths *paths);

/* Write the difference in each of the formats to its file, and name that. */
int growth_write(const struct args *args, unsigned int formats, const struct ops_diff *diff,
		 const struct growth_paths *paths, struct err *err) __must_check;

/* May growth_write() write its files? ERR_OUTPUT. */
int growth_check_files(const struct args *args, unsigned int formats, const char *stem,
		       struct err *err) __must_check;

#endif
