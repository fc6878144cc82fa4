// SPDX-License-Identifier: Apache-2.0
/* Which functions are the allocator's: what lies inside of their calls is nobody's business. */
#ifndef PROFILE_SYMBOLS_ALLOCATOR_H
#define PROFILE_SYMBOLS_ALLOCATOR_H

#include <stdbool.h>

/*
 * Is `name`, demangled or not, one of those that jeprof(1) drops from the inner
 * end of a stack, or the same behind a prefix that jemalloc is built with?
 */
bool symbols_is_allocator(const char *name);

/* Does jeprof(1) drop it? `name` is without arguments and template arguments. */
bool symbols_is_jeprof_allocator(const char *name);

/* Is it the file name of an image all of whose functions are the allocator's? */
bool symbols_is_allocator_image(const char *path);

#endif
