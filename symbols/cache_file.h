// SPDX-License-Identifier: Apache-2.0
/* Private to symbol_cache.c: what stands in a file of the cache. */
#ifndef SYMBOLS_CACHE_FILE_H
#define SYMBOLS_CACHE_FILE_H

#include "symbols/cache.h"

#define SYMBOL_CACHE_FILE_MAX (64u << 20)

/*
 * False when it is none, or broken: whoever wrote it, nothing that it says is
 * believed before it was checked. The caller ends `out` with symbol_cache_fini().
 */
bool symbol_cache_read(int fd, struct symbol_cache *out);

/* Write it from the start of `fd`; *bytes is its length. */
bool symbol_cache_write(int fd, const struct symbol_cache *cache, uint64_t *bytes);

#endif
