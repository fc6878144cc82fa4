// SPDX-License-Identifier: Apache-2.0
/* Names of functions as short as a line has room for: of C++ they may be as long as a page. */
#ifndef PROFILE_FIT_H
#define PROFILE_FIT_H

#include <stddef.h>

/*
 * `name`, which is safe to print, in `width` columns. Where it is longer it goes without its
 * arguments and its type, then without its template arguments, then with as few of its namespaces
 * as there is room for, and else with dots in its middle. Of a name with a place, as
 * "0x401136 f src/a.c:12" (profile/regroup.h), the file's folder goes first. Writes at most `size`
 * bytes. Returns `buf`.
 */
#define PROFILE_FIT_MIN 12 /* columns: of less nobody can tell what it was */
const char *profile_name_fit(const char *name, size_t width, char *buf, size_t size);

/*
 * The name alone: without arguments, template arguments, what it returns, and what tells it from
 * others of its name ("init (a.c)", "f.part.0", "f [clone .cold]"). Returns `buf`.
 */
const char *profile_name_bare(const char *name, char *buf, size_t size);

/* How long a name is without the " (a.c)" that tells it from others, if there is one. */
size_t profile_name_untold(const char *name);

#endif
