// SPDX-License-Identifier: Apache-2.0
/*
 * Strings that are kept once each: equal strings are one pointer, so that
 * comparing is comparing pointers. They live until all of them are freed.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stddef.h>

struct intern;

/* NULL when there is no memory. The caller frees it, and with it every string. */
struct intern *intern_new(void);
void intern_free(struct intern *in);

/* The kept copy of the `len` bytes at `s` (none of them NUL), or NULL without memory. */
const char *intern_add(struct intern *in, const char *s, size_t len);

#endif
