// SPDX-License-Identifier: Apache-2.0
/* Shared by the formats. Private to profile/format/. */
#ifndef PROFILE_FORMAT_PRIVATE_H
#define PROFILE_FORMAT_PRIVATE_H

#include "base/cleanup.h"
#include "profile/format/format.h"
#include "profile/names.h"
#include "profile/symbols.h"

#include <stdint.h>

/*
 * Rounds to whole numbers: the rounding error of each is carried to the next, so that the sum of
 * all is exactly the rounded sum.
 */
struct format_sum {
	double exact;
	int64_t written;
};
int64_t format_round(struct format_sum *sum, double value);

/* pprof's names of what is counted. */
struct format_type {
	const char *name, *unit;
};
extern const struct format_type format_types[PROFILE_TYPES];

/* The types that a profile has. Returns how many. */
unsigned int format_known(const struct profile *profile, enum profile_type known[PROFILE_TYPES]);
bool format_is_bytes(enum profile_type type);

/* "12.3M" bytes or "17" objects, with a sign. Returns `buf`; 24 bytes always suffice. */
const char *format_amount(enum profile_type type, double amount, char *buf, size_t size);

/* Characters to replace, ended by one without text. */
struct format_escape {
	char c;
	const char *text;
};
extern const struct format_escape format_json[], format_xml[], format_plain[];

/* Write text that is already safe to show, as in profile_names. */
void format_escape(const struct format_escape *escapes, const char *text, FILE *out);

/* Write any text, made safe and cut at PROFILE_NAME_MAX. */
void format_raw(const struct format_escape *escapes, const char *raw, FILE *out);

/* Write any text as a JSON string with quotes; NULL as null. */
void format_json_text(const char *raw, FILE *out);

/* The paths of a profile, and their names. */
struct format_stacks {
	struct profile_names names;
	struct profile_paths paths;
};
int format_stacks_init(struct format_stacks *out, const struct profile *profile,
		       const struct profile_format_options *options, struct err *err) __must_check;
void format_stacks_fini(struct format_stacks *stacks);

/* The title of a report: raw text. */
const char *format_title(const struct profile *profile,
			 const struct profile_format_options *options);

/* The length of a file embedded by the linker, from its two symbols. */
size_t format_embedded(const char *start, const char *end);

int format_pprof(const struct profile *profile, const struct profile_format_options *options,
		 FILE *out, struct err *err) __must_check;
int format_folded(const struct profile *profile, const struct profile_format_options *options,
		  FILE *out, struct err *err) __must_check;
int format_html(const struct profile *profile, const struct profile_format_options *options,
		FILE *out, struct err *err) __must_check;
int format_svg(const struct profile *profile, const struct profile_format_options *options,
	       FILE *out, struct err *err) __must_check;
int format_speedscope(const struct profile *profile, const struct profile_format_options *options,
		      FILE *out, struct err *err) __must_check;
int format_callgrind(const struct profile *profile, const struct profile_format_options *options,
		     FILE *out, struct err *err) __must_check;
int format_dot(const struct profile *profile, const struct profile_format_options *options,
	       FILE *out, struct err *err) __must_check;
int format_json_document(const struct profile *profile,
			 const struct profile_format_options *options, FILE *out, struct err *err)
	__must_check;

int format_raw_profile(const struct profile *profile, const struct profile_format_options *options,
		       FILE *out, struct err *err) __must_check;

#endif
