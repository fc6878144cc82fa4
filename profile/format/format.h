// SPDX-License-Identifier: Apache-2.0
/* A profile in the formats of other programs. Every name is made safe for its format. */
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
	/* What is counted, in a format that holds one type; the default where that is not known. */
	enum profile_type type;
	bool keep_allocator; /* also the calls within malloc and its like */
	const char *title;   /* raw text; NULL: the process's name, if it is known */
	/* Of a graph: how much is shown of it. 0: 80 nodes, 0.005 and 0.001 of the total. */
	size_t node_count;
	double node_fraction, edge_fraction;
	/* Of a difference: what of it is significant; NULL: it was not tested. */
	const struct profile_diff *functions, *stacks;
};

struct profile_format_info {
	const char *name;   /* as in "report -f NAME" */
	const char *suffix; /* of a file of it, with its dot; each format has another */
	const char *what;   /* for the help: one line */
	bool binary;	    /* not for a terminal */
	int (*write)(const struct profile *, const struct profile_format_options *, FILE *,
		     struct err *);
};

/* What is known of a format. Static storage. */
const struct profile_format_info *profile_format_info(enum profile_format format);

/* The format of this name; PROFILE_FORMAT_NONE when there is none. */
enum profile_format profile_format_by_name(const char *name);

/* ERR_USAGE: unknown format. `also` ("text, ") are those that the caller adds. */
int profile_format_unknown(const char *name, const char *also, struct err *err);

/* The format of a file by its longest suffix that is known; PROFILE_FORMAT_NONE without one. */
enum profile_format profile_format_by_path(const char *path);

/*
 * Write `profile`, whose symbols must have been looked up. What it writes is
 * bounded by the profile's size; memory grows with it linearly. ERR_OUTPUT:
 * `out` cannot be written; ERR_FAILED: no memory. The caller flushes and closes.
 */
int profile_write(const struct profile *profile, enum profile_format format,
		  const struct profile_format_options *options, FILE *out, struct err *err)
	__must_check;

/*
 * The names of its addresses, a line for each that lies in a mapping, as -f raw has them too:
 * "0xPLACE TAB outer--inner". The caller looks whether `out` took them.
 */
void profile_write_symbols(const struct profile *profile, FILE *out);

#endif
