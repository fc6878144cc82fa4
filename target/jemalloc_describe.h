// SPDX-License-Identifier: Apache-2.0
/* Private to target/: what an image says of the jemalloc in it. */
#ifndef TARGET_JEMALLOC_DESCRIBE_H
#define TARGET_JEMALLOC_DESCRIBE_H

#include "target/jemalloc.h"
#include "target/jemalloc_scan.h"

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

/*
 * Fill in the rest. `alone`: it is the only one of its image. `scan` is of the
 * image, if it was opened already, else NULL.
 */
void jemalloc_describe(struct jemalloc *je, pid_t pid, bool alone, struct scan *scan);

/* The prefix, by the name of the variable it reads; as it was if that has none of its own. */
void jemalloc_find_prefix(struct jemalloc *je);

#endif
