// SPDX-License-Identifier: Apache-2.0
/* Writes profiles in formats of other programs. Every name is escaped for its format. */
#ifndef PROFILE_FORMAT_FORMAT_H
#define PROFILE_FORMAT_FORMAT_H

#include "base/err.h"
#include "profile/diff.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum profile_format {
	PROFILE_FORMAT_PPROF,
	PROFILE_FORMAT_FOLDED,
	PROFILE_FORMAT_HTML,
	PROFILE_FORMAT_SVG,
	PROFILE_FORMAT_SPEEDSCOPE,
	PROFILE_FORMAT_CALLGRIND,
	PROFILE_FORMAT_DOT,
	PROFILE_FORMAT_JSON,
	PROFILE_FORMAT_RAW,
	PROFILE_FORMATS,
	PROFILE_FORMAT_NONE = PROFILE_FORMATS
};

struct profile_format_options {
	/* The type, in formats that hold only one; unavailable: the default. */
	enum profile_type type;
	bool keep_allocator; /* keep calls within malloc and the like */
	const char *title;   /* raw text; NULL: the process name, if known */
	/* Limits of a graph. 0: 80 nodes, 0.005 and 0.001 of the total. */
	size_t node_count;
	double node_fraction, edge_fraction;
	/* Of a difference, with what is significant; NULL: not tested. */
	const struct profile_diff *functions, *stacks;
};

struct profile_format_info {
	const char *name;   /* as in "report -f NAME" */
	const char *suffix; /* of files, with the dot; unique for each format */
	const char *what;   /* one line for the help */
	bool binary;	    /* not for a terminal */
	int (*write)(const struct profile *, const struct profile_format_options *, FILE *,
		     struct err *);
};

/* The description of a format. Static storage. */
const struct profile_format_info *profile_format_info(enum profile_format format);

/* The format of this name; PROFILE_FORMAT_NONE: unknown. */
enum profile_format profile_format_by_name(const char *name);

/* ERR_USAGE: unknown format. `also` ("text, ") lists formats that the caller adds. */
int profile_format_unknown(const char *name, const char *also, struct err *err);

/* The format of a file by its longest known suffix; PROFILE_FORMAT_NONE: none. */
enum profile_format profile_format_by_path(const char *path);

/*
 * Write `profile`, whose symbols must have been looked up. Output is bounded by the profile's size,
 * and memory is linear in it. ERR_OUTPUT: `out` cannot be written; ERR_FAILED: no memory. The
 * caller flushes and closes.
 */
int profile_write(const struct profile *profile, enum profile_format format,
		  const struct profile_format_options *options, FILE *out, struct err *err)
	__must_check;

/*
 * Write the names of the profile's addresses, one line for each address in a mapping, as -f raw
 * does: "0xPLACE TAB outer--inner". The caller checks `out` for errors.
 */
void profile_write_symbols(const struct profile *profile, FILE *out);

#endif
