// SPDX-License-Identifier: Apache-2.0
/* Growth for people and for JSON: what record, diff and leaks print alike. */
#ifndef CLI_GROWTH_H
#define CLI_GROWTH_H

#include "base/json.h"
#include "cli/args.h"
#include "ops/growth.h"
#include "profile/format/format.h"

#include <stddef.h>

/* "+12.3M", "-512": a change of that many bytes. Returns `buf`; 24 bytes always do. */
const char *growth_bytes(double bytes, char *buf, size_t size);

/* "alloc (pool.c:12) < work < main": the calls of a stack, the innermost first, safe to print. */
#define GROWTH_CALLS_SIZE 2304
const char *growth_calls(const struct profile *profile, size_t stack, char *buf, size_t size);

/* The same as an array of function, file, line. */
struct json_object *growth_calls_json(const struct profile *profile, size_t stack);

/* The difference: a table of functions and the stacks that changed most. */
int growth_print(const struct args *args, const struct ops_diff *diff, struct err *err)
	__must_check;
void growth_json(struct json_object *doc, const struct ops_diff *diff);

/*
 * The formats of --format, "pprof,folded" or NULL: a bit for each, 1 << enum profile_format.
 * ERR_USAGE: there is none of a name, or it cannot hold every difference.
 */
int growth_formats(const char *names, unsigned int *formats, struct err *err) __must_check;

/*
 * Write the difference in each of the formats to `stem` and the format's suffix,
 * and tell of them; their names are added to `files`.
 */
int growth_write(const struct args *args, unsigned int formats, const struct ops_diff *diff,
		 const char *stem, struct json_object *files, struct err *err) __must_check;

/* The names of its files. growth_paths_fini() is due also when this fails. */
struct growth_paths {
	char *v[PROFILE_FORMATS];
	size_t n;
};
int growth_paths(unsigned int formats, const char *stem, struct growth_paths *paths,
		 struct err *err) __must_check;
void growth_paths_fini(struct growth_paths *paths);

/* May growth_write() write its files? ERR_OUTPUT. */
int growth_check_files(const struct args *args, unsigned int formats, const char *stem,
		       struct err *err) __must_check;

#endif
