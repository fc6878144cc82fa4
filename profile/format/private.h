// SPDX-License-Identifier: Apache-2.0
/* What the formats share. Private to profile/format/. */
#ifndef PROFILE_FORMAT_PRIVATE_H
#define PROFILE_FORMAT_PRIVATE_H

#include "base/cleanup.h"
#include "profile/format/format.h"
#include "profile/names.h"
#include "profile/symbols.h"

#include <stdint.h>

/*
 * Whole numbers of fractions: what a fraction loses by rounding is carried to
 * the next, so that the sum of all is the rounded sum, to the byte.
 */
struct format_sum {
	double exact;
	int64_t written;
};
int64_t format_round(struct format_sum *sum, double value);

/* As pprof calls what is counted. */
struct format_type {
	const char *name, *unit;
};
extern const struct format_type format_types[PROFILE_TYPES];

/* Which types a profile knows. Returns how many. */
unsigned int format_known(const struct profile *profile, enum profile_type known[PROFILE_TYPES]);
bool format_is_bytes(enum profile_type type);

/* "12.3M" of bytes, "17" of objects, with its sign. Returns `buf`; 24 bytes always do. */
const char *format_amount(enum profile_type type, double amount, char *buf, size_t size);

/* Characters that are written as something else; the last has no text. */
struct format_escape {
	char c;
	const char *text;
};
extern const struct format_escape format_json[], format_xml[], format_plain[];

/* Text that is safe to show, such as profile_names holds. */
void format_escape(const struct format_escape *escapes, const char *text, FILE *out);

/* Any text: made safe and cut at PROFILE_NAME_MAX first. */
void format_raw(const struct format_escape *escapes, const char *raw, FILE *out);

/* Any text as a string of JSON, with its quotes; NULL as null. */
void format_json_text(const char *raw, FILE *out);

/* The paths of a profile, and the names in them. */
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

/* The length of a file that the linker put in, of which it made two symbols. */
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
