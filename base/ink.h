// SPDX-License-Identifier: Apache-2.0
/* Escape sequences for colored output (ECMA-48, SGR). */
#ifndef BASE_INK_H
#define BASE_INK_H

#include <stddef.h>

#define INK_OFF "\033[0m"
#define INK_TEXT_BOLD "\033[1m"
#define INK_TEXT_DIM "\033[2m"
#define INK_TEXT_RED "\033[31m"
#define INK_TEXT_GREEN "\033[32m"
#define INK_TEXT_YELLOW "\033[33m"

#define INK_MAX 5 /* length of the longest, in bytes */

/* The length of the one at the start of `text`; 0: none of these. */
size_t ink_length(const char *text);

#endif
