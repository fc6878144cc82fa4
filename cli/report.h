// SPDX-License-Identifier: Apache-2.0
/* What `report`, `convert`, `sites` and `sample` share. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "base/json.h"
#include "cli/args.h"
#include "profile/fold.h"
#include "profile/format/format.h"
#include "symbols/symbolize.h"

extern const char *const report_units[];
/* What `report` and `sample` count. */
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

/* What `report`, `sites` and `sample` show of a profile, and how. */
#define OPTIONS_OF_TABLES                                                                          \
	{ "functions", 0, VALUE(FLAG, by_function), NULL, "a row for each function (the default)", \
	  NULL },                                                                                  \
		{ "lines", 0, VALUE(FLAG, by_line), NULL, "a row for each line", NULL },           \
		{ "files", 0, VALUE(FLAG, by_file), NULL, "a row for each source file", NULL },    \
		{ "addresses", 0, VALUE(FLAG, by_address), NULL, "a row for each address", NULL }, \
		{ "tree", 0, VALUE(FLAG, tree), NULL, "each with its callers and callees", NULL }, \
		{ "peek",                                                                          \
		  0,                                                                               \
		  VALUE(STRING, peek),                                                             \
		  "RE",                                                                            \
		  "those that match, with their callers and callees",                              \
		  NULL },                                                                          \
		{ "cum", 0, VALUE(FLAG, cum), NULL, "in the order of cum, not of flat", NULL },    \
		{ "nodecount", 'n', VALUE(INT, nodecount), "N", "at most N rows, 0 for all (25)",  \
		  NULL },                                                                          \
		{ "nodefraction",                                                                  \
		  0,                                                                               \
		  VALUE(STRING, nodefraction),                                                     \
		  "F",                                                                             \
		  "no row below this part of the total (0)",                                       \
		  NULL },                                                                          \
		{ "unit",      0, VALUE(CHOICE, unit), "UNIT", "of bytes: auto, B, KB, MB or GB",  \
		  report_units },                                                                  \
		{ "show-bytes", 0, VALUE(FLAG, show_bytes), NULL, "the same as --unit B", NULL },  \
		{ "focus", 0, VALUE(STRING, focus), "RE", "only stacks with a call that matches",  \
		  NULL },                                                                          \
		{ "ignore", 0, VALUE(STRING, ignore), "RE", "no stacks with a call that matches",  \
		  NULL },                                                                          \
		{ "show", 0, VALUE(STRING, show), "RE", "only calls that match", NULL },           \
		{ "hide", 0, VALUE(STRING, hide), "RE", "no calls that match", NULL },             \
		{ "retain",                                                                        \
		  0,                                                                               \
		  VALUE(STRING, retain),                                                           \
		  "RE",                                                                            \
		  "as --show, with all that was inlined into it",                                  \
		  NULL },                                                                          \
		{ "exclude",                                                                       \
		  0,                                                                               \
		  VALUE(STRING, exclude),                                                          \
		  "RE",                                                                            \
		  "as --hide, with all that was inlined into it",                                  \
		  NULL },                                                                          \
		{ "list",                                                                          \
		  0,                                                                               \
		  VALUE(STRING, list),                                                             \
		  "RE",                                                                            \
		  "the source of functions that match, line by line",                              \
		  NULL },                                                                          \
		{ "traces", 0, VALUE(FLAG, traces), NULL, "each stack by itself", NULL },          \
		OPTION_NO_FOLD, OPTION_ALLOCATOR,                                                  \
	{                                                                                          \
		"keep-allocator", 0, VALUE(FLAG, keep_allocator), NULL,                            \
			"also the calls within malloc and its like", NULL                          \
	}

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

/*
 * The same of one profile, which `take` puts into the memory file `fd` once the line is known to be
 * right: with what it is to be called, which is the caller's to free, and maybe a warning.
 */
typedef int report_take_fn(const struct args *args, int fd, char **name, struct err *warning,
			   struct err *err);
int report_taken(const struct args *args, report_take_fn *take, const char *format, struct err *err)
	__must_check;

/* The name of the format that the line asks for, by -f or by what the output is called; or NULL. */
const char *report_format_asked(const struct args *args);

/* Where no format is named, the one that the output's suffix tells. ERR_USAGE: it tells none. */
int report_infer_format(struct args *args, struct err *err) __must_check;

/* ERR_USAGE: --max-stacks with a format of this name (NULL: none) that has no bounds. */
int report_check_stacks(const struct args *args, const char *format, struct err *err) __must_check;

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
