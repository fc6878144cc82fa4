// SPDX-License-Identifier: Apache-2.0
/* Private to profile/: reading text that somebody else wrote, line by line. */
#ifndef PROFILE_READER_H
#define PROFILE_READER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of one line: [at, end). The functions below step over what they found. */
struct span {
	const char *at, *end;
};

/* The lines of a file. */
struct reader {
	const char *start, *next, *end;
	struct span line; /* without its end and the white space before that */
	size_t number;	  /* of `line`, from 1 */
	bool whole;	  /* it ends in a newline */
};

/* To the next line; false when there is none. */
bool reader_line(struct reader *f);

/* Set the error "line N, byte N: what" for the line that was read last. Returns -1. */
int reader_fail(const struct reader *f, const char *what, struct err *err);

/* Does it go on with `text`? */
bool reader_text(struct span *s, const char *text);

/* Blanks, any number of them. Always true, so that it can stand in a condition. */
bool reader_blank(struct span *s);

/* A number that fits. reader_hex() takes "0x" before it as well. False leaves `s` anywhere. */
bool reader_number(struct span *s, uint64_t *n);
bool reader_hex(struct span *s, uint64_t *n);

#endif
