// SPDX-License-Identifier: Apache-2.0
/* What `report` and `convert` share. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "base/json.h"
#include "cli/args.h"
#include "profile/fold.h"
#include "profile/format/format.h"
#include "symbols/symbolize.h"

/* The names of formats, NULL at the end: the first ones are those of reports alone. */
extern const char *const report_formats[];
#define REPORT_FORMATS_ONLY 3

/*
 * Read `files`, and write what the line asks for, in the format of this name
 * (NULL: a table), to args->output or to stdout. n_files == 0: read what a process dumps now, which
 * is kept in args->save alone.
 */
int report_run(const struct args *args, const char *const *files, size_t n_files,
	       const char *format, struct err *err) __must_check;

/* The name of the format that the suffix of this path tells; NULL: none. */
const char *report_format_of(const char *path);

/* Where no format is named, the one that the output's suffix tells. ERR_USAGE: it tells none. */
int report_infer_format(struct args *args, struct err *err) __must_check;

/* What the line says about where names are looked up. ERR_FAILED: --root is no folder. */
int report_symbols(const struct args *args, struct ops_symbolize_options *symbols, struct err *err)
	__must_check;

/* What allocates for its callers, by the line; NULL: it is to be shown. Returns `fold`, or NULL. */
const struct profile_fold *report_fold(const struct args *args, struct profile_fold *fold);
#define REPORT_HOW_FOLDED "--no-fold shows them"

/*
 * In the child (cli/apart.h): where warnings go. With `json` into the array that is returned, for
 * api_with_warnings(); else to stderr, unless -q, and NULL is returned.
 */
struct json_object *report_warnings(const struct args *args, bool json,
				    struct ops_symbolize_options *symbols);

#endif
