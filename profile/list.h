// SPDX-License-Identifier: Apache-2.0
/* Annotated source: what each line of a function allocated. */
#ifndef PROFILE_LIST_H
#define PROFILE_LIST_H

#include "profile/profile.h"
#include "profile/report.h"

#include <stdio.h>

/* The text of a source file; unknown fields are NULL or false. */
struct profile_source {
	const char *text; /* followed by a '\0'; NULL: none */
	size_t len;
	const char *why; /* why there is no text: a few words */
	bool newer;	 /* than the program, so that lines may differ */
};

/* Finds the source of code in this mapping (PROFILE_NONE: not known), and owns its text. */
typedef void profile_source_fn(void *ctx, const char *path, uint32_t mapping,
			       struct profile_source *out);

/*
 * Write each function that matches the expression with what its lines allocated, and their source
 * if `source` finds it. Needs profile->symbols, not regrouped. Text is made safe to print.
 * ERR_FAILED: nothing matches, no memory; ERR_USAGE: the expression is invalid; ERR_OUTPUT.
 */
int profile_list(const struct profile *profile, const struct profile_table *table,
		 const char *pattern, const struct profile_report_options *options,
		 profile_source_fn *source, void *ctx, FILE *out, struct err *err) __must_check;

#endif
