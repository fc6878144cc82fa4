// SPDX-License-Identifier: Apache-2.0
/* Growth for people and for JSON: what record, diff and leaks print alike. */
#ifndef CLI_GROWTH_H
#define CLI_GROWTH_H

#include "base/json.h"
#include "cli/args.h"
#include "ops/growth.h"

#include <stddef.h>

/* "+12.3M", "-512": a change of that many bytes. Returns `buf`; 24 bytes always do. */
const char *growth_bytes(double bytes, char *buf, size_t size);

/* "alloc (pool.c:12) < work < main": the calls of a stack, the innermost first, safe to print. */
#define GROWTH_CALLS_SIZE 1024
const char *growth_calls(const struct profile *profile, size_t stack, char *buf, size_t size);

/* The same as an array of function, file, line. */
struct json_object *growth_calls_json(const struct profile *profile, size_t stack);

/* The difference: a table of functions and the stacks that changed most. */
int growth_print(const struct args *args, const struct ops_diff *diff, struct err *err)
	__must_check;
void growth_json(struct json_object *doc, const struct ops_diff *diff);

/*
 * Write the difference in each of the formats of --format, "pprof,folded", to
 * `stem` and the format's suffix, and tell of them; their names are added to `files`.
 */
int growth_write(const struct args *args, const struct ops_diff *diff, const char *stem,
		 struct json_object *files, struct err *err) __must_check;

/* ERR_USAGE when --format names one that there is not. */
int growth_check_formats(const struct args *args, struct err *err) __must_check;

/* May growth_write() write its files? ERR_OUTPUT. */
int growth_check_files(const struct args *args, const char *stem, struct err *err) __must_check;

/* What the command line says about where names are looked up. */
struct ops_symbolise_options growth_symbols(const struct args *args);

#endif
