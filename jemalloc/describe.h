// SPDX-License-Identifier: Apache-2.0
/* Private to jemalloc/: what an image says of the jemalloc in it. */
#ifndef JEMALLOC_DESCRIBE_H
#define JEMALLOC_DESCRIBE_H

#include "jemalloc/jemalloc.h"

/*
 * Something may be called like mallctl and not be jemalloc's: is this one,
 * whose image, prefix and mallctl are known?
 */
bool jemalloc_is_genuine(const struct jemalloc *je);

/*
 * Has its prefix other functions that every jemalloc has? A program's own call_mallctl has
 * none; nor has a jemalloc's from which the linker dropped what nobody calls.
 */
bool jemalloc_has_fellows(const struct jemalloc *je);

/* Fill in the rest, but for what jemalloc_find_opts() does. */
void jemalloc_describe(struct jemalloc *je, bool is_alone);

/* Does the image hold the mark that opens every message of every jemalloc? */
bool jemalloc_has_mark(struct image *img);

/* The prefix, by the name of the variable it reads; as it was if that has none of its own. */
void jemalloc_find_prefix(struct jemalloc *je);

#endif
