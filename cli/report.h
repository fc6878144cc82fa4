// SPDX-License-Identifier: Apache-2.0
/* Code shared by `report`, `convert`, `sites` and `sample`. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "base/json.h"
#include "cli/args.h"
#include "profile/fold.h"
#include "profile/format/format.h"
#include "symbols/symbolize.h"

extern const char *const report_units[];
/* Options for what `report` and `sample` count. */
#define OPTIONS_OF_COUNTS                                              \
	{ "inuse-space",                                               \
	  0,                                                           \
	  VALUE(FLAG, inuse_space),                                    \
	  NULL,                                                        \
	  "count bytes that are in use (the default)",                 \
	  NULL },                                                      \
		{ "inuse-objects",                                     \
		  0,                                                   \
		  VALUE(FLAG, inuse_objects),                          \
		  NULL,                                                \
		  "count objects that are in use",                     \
		  NULL },                                              \
		{ "alloc-space",                                       \
		  0,                                                   \
		  VALUE(FLAG, alloc_space),                            \
		  NULL,                                                \
		  "count bytes that were ever allocated",              \
		  NULL },                                              \
	{                                                              \
		"alloc-objects", 0, VALUE(FLAG, alloc_objects), NULL,  \
			"count objects that were ever allocated", NULL \
	}

/* Options for what `report`, `sites` and `sample` show of a profile, and how. */
#define OPTIONS_OF_TABLES                                                                         \
	{                                                                                         \
		"functions",                                                                      \
		0,                                                                                \
		VALUE(FLAG, by_function),                                                         \
		NULL,                                                                             \
		"one row per function (the default)",                                             \
		NULL                                                                              \
	},                                                                                        \
		{ "lines", 0, VALUE(FLAG, by_line), NULL, "one row per line", NULL },             \
		{ "files", 0, VALUE(FLAG, by_file), NULL, "one row per source file", NULL },      \
		{ "addresses", 0, VALUE(FLAG, by_address), NULL, "one row per address", NULL },   \
		{ "tree", 0, VALUE(FLAG, tree), NULL, "functions with their callers and callees", \
		  NULL },                                                                         \
		{ "peek",                                                                         \
		  0,                                                                              \
		  VALUE(STRING, peek),                                                            \
		  "RE",                                                                           \
		  "functions that match, with their callers and callees",                         \
		  NULL },                                                                         \
		{ "cum", 0, VALUE(FLAG, cum), NULL, "sort by cum, not by flat", NULL },           \
		{ "nodecount", 'n', VALUE(INT, nodecount), "N", "at most N rows, 0 for all (25)", \
		  NULL },                                                                         \
		{ "nodefraction",                                                                 \
		  0,                                                                              \
		  VALUE(STRING, nodefraction),                                                    \
		  "F",                                                                            \
		  "no rows below this fraction of the total (0)",                                 \
		  NULL },                                                                         \
		{ "unit",      0, VALUE(CHOICE, unit), "UNIT", "of sizes: auto, B, KB, MB or GB", \
		  report_units },                                                                 \
		{ "show-bytes", 0, VALUE(FLAG, show_bytes), NULL, "the same as --unit B", NULL }, \
		{ "focus", 0, VALUE(STRING, focus), "RE", "only stacks with a call that matches", \
		  NULL },                                                                         \
		{ "ignore", 0, VALUE(STRING, ignore), "RE", "no stacks with a call that matches", \
		  NULL },                                                                         \
		{ "show", 0, VALUE(STRING, show), "RE", "only calls that match", NULL },          \
		{ "hide", 0, VALUE(STRING, hide), "RE", "no calls that match", NULL },            \
		{ "retain",                                                                       \
		  0,                                                                              \
		  VALUE(STRING, retain),                                                          \
		  "RE",                                                                           \
		  "as --show, with all that was inlined into it",                                 \
		  NULL },                                                                         \
		{ "exclude",                                                                      \
		  0,                                                                              \
		  VALUE(STRING, exclude),                                                         \
		  "RE",                                                                           \
		  "as --hide, with all that was inlined into it",                                 \
		  NULL },                                                                         \
		{ "list",                                                                         \
		  0,                                                                              \
		  VALUE(STRING, list),                                                            \
		  "RE",                                                                           \
		  "the source of functions that match, line by line",                             \
		  NULL },                                                                         \
		{ "traces", 0, VALUE(FLAG, traces), NULL, "every stack by itself", NULL },        \
		OPTION_NO_FOLD, OPTION_ALLOCATOR,                                                 \
	{                                                                                         \
		"keep-allocator", 0, VALUE(FLAG, keep_allocator), NULL,                           \
			"keep calls within malloc and the like", NULL                             \
	}

/* Format names, NULL-terminated; the first REPORT_FORMATS_ONLY are for reports only. */
extern const char *const report_formats[];
#define REPORT_FORMATS_ONLY 3

/*
 * Read `files`, and write the requested report in the format of this name (NULL: a table) to
 * args->output or stdout. n_files == 0: dump the processes now, and keep the dumps only in
 * args->save.
 */
int report_run(const struct args *args, const char *const *files, size_t n_files,
	       const char *format, struct err *err) __must_check;

/*
 * The same for one profile, which `take` writes to the memory file `fd` once the command line has
 * been checked. It also returns a name for the profile, which the caller frees, and maybe a
 * warning.
 */
typedef int report_take_fn(const struct args *args, int fd, char **name, struct err *warning,
			   struct err *err);
int report_taken(const struct args *args, report_take_fn *take, const char *format, struct err *err)
	__must_check;

/* The name of the format given by -f or by the output's suffix; NULL: neither. */
const char *report_format_asked(const struct args *args);

/* Without -f, take the format from the output's suffix. ERR_USAGE: it has none. */
int report_infer_format(struct args *args, struct err *err) __must_check;

/* ERR_USAGE: --max-stacks does not apply to the format of this name (NULL: no format). */
int report_check_stacks(const struct args *args, const char *format, struct err *err) __must_check;

/* The options for looking up names. ERR_FAILED: --root is not a folder. */
int report_symbols(const struct args *args, struct ops_symbolize_options *symbols, struct err *err)
	__must_check;

/* The functions to fold, by the command line. Returns `fold`; NULL: fold none. */
const struct profile_fold *report_fold(const struct args *args, struct profile_fold *fold);
#define REPORT_HOW_FOLDED "--no-fold shows them"

/*
 * Sets up warnings in the child (cli/apart.h). With `json` they go to the returned array, for
 * api_with_warnings(); else to stderr, unless -q, and NULL is returned.
 */
struct json_object *report_warnings(const struct args *args, bool json,
				    struct ops_symbolize_options *symbols);

#endif
