// SPDX-License-Identifier: Apache-2.0
/* Shortens function names to the width of a line: C++ names may be a page long. */
#ifndef PROFILE_FIT_H
#define PROFILE_FIT_H

#include <stddef.h>

/*
 * Fit `name`, which is safe to print, into `width` columns. If it is longer, drop its arguments and
 * type, then its template arguments, then as many namespaces as necessary; if it is still too
 * long, put dots in its middle. In a name with a place, such as "0x401136 f src/a.c:12"
 * (profile/regroup.h), drop the file's folder first. Writes at most `size` bytes. Returns `buf`.
 */
#define PROFILE_FIT_MIN 12 /* columns: in fewer a name cannot be recognized */
const char *profile_name_fit(const char *name, size_t width, char *buf, size_t size);

/*
 * The name alone: without arguments, template arguments, return type, and distinguishing suffixes
 * ("init (a.c)", "f.part.0", "f [clone .cold]"). Returns `buf`.
 */
const char *profile_name_bare(const char *name, char *buf, size_t size);

/* The length of a name without its distinguishing " (a.c)", if any. */
size_t profile_name_untold(const char *name);

#endif
