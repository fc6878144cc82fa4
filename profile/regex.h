// SPDX-License-Identifier: Apache-2.0
/* Private to profile/: regular expressions with limits, for they may be matched to any name. */
#ifndef PROFILE_REGEX_H
#define PROFILE_REGEX_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct regex;

/* ERR_USAGE: it is wrong; the message says where. Ended with regex_free(). */
int regex_new(const char *what, const char *pattern, struct regex **out, struct err *err)
	__must_check;
void regex_free(struct regex *re);
void regex_close(struct regex **re); /* for _cleanup_() */

/* Does it match somewhere in `text`? Remembers when that took too long. */
bool regex_matches(struct regex *re, const char *text);

/* ERR_USAGE when a match took too long. */
int regex_check(const struct regex *re, struct err *err) __must_check;

#endif
