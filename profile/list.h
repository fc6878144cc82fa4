// SPDX-License-Identifier: Apache-2.0
/* What each line of a function allocated: the rows of an annotated source. */
#ifndef PROFILE_LIST_H
#define PROFILE_LIST_H

#include "profile/profile.h"
#include "profile/report.h"

#include <stdio.h>

/* The text of a source file; what is not known is NULL or false. */
struct profile_source {
	const char *text; /* with a '\0' behind it; NULL: there is none */
	size_t len;
	const char *why; /* there is none: a few words */
	bool newer;	 /* than the program, whose lines may be others */
};

/* Looks for the source of code of this mapping (PROFILE_NONE: not known), and owns its text. */
typedef void profile_source_fn(void *ctx, const char *path, uint32_t mapping,
			       struct profile_source *out);

/*
 * Write each function that matches the expression with what its lines allocated, and their source
 * where `source` finds it. Needs profile->symbols with functions as they are. Text is made safe to
 * print. ERR_FAILED: nothing matches, no memory; ERR_USAGE: the expression is wrong; ERR_OUTPUT.
 */
int profile_list(const struct profile *profile, const struct profile_table *table,
		 const char *pattern, const struct profile_report_options *options,
		 profile_source_fn *source, void *ctx, FILE *out, struct err *err) __must_check;

#endif
