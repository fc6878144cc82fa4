// SPDX-License-Identifier: Apache-2.0
/*
 * Interned strings: equal strings are the same pointer, so that they can be compared by pointer.
 * They are freed all together.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stddef.h>

struct intern;

/* NULL if out of memory. The caller frees it, and with it every string. */
struct intern *intern_new(void);
void intern_free(struct intern *in);

/* The interned copy of the `len` bytes at `s` (none of them NUL), or NULL if out of memory. */
const char *intern_add(struct intern *in, const char *s, size_t len);

#endif
