// SPDX-License-Identifier: Apache-2.0
/*
 * Names that were read from debug data, kept on disk by build id: reading them
 * again takes long, and the file they came from may be gone by then. In
 * /var/cache/jeprof-ctl for root, else in jeprof-ctl below XDG_CACHE_HOME or
 * ~/.cache; only for the user's own eyes, and of a bounded size. The cache
 * helps or does nothing: none of its failures is one of the caller.
 */
#ifndef SYMBOLS_CACHE_H
#define SYMBOLS_CACHE_H

#include "profile/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The names of places in one image. */
struct symbol_cache {
	uint64_t *offsets; /* of the places in the image's file, ascending */
	size_t n;
	struct profile_symbols *symbols; /* locations[i] is that of offsets[i] */
};

#define SYMBOL_CACHE_BYTES_MAX (UINT64_C(256) << 20) /* of all files together */

/* The file that is kept for an image (symbols/cache.h); -1: none, or it is not ours. */
int symbol_cache_open(const unsigned char *build_id, size_t len);
void symbol_cache_fini(struct symbol_cache *cache);

/* Keep the first `bytes` of `fd`, in place of what was kept. */
void symbol_cache_store(const unsigned char *build_id, size_t len, int fd, uint64_t bytes);

/* What stands in a file of the cache. */

#define SYMBOL_CACHE_FILE_MAX (64u << 20)

/*
 * False when it is none, or broken: whoever wrote it, nothing that it says is
 * believed before it was checked. The caller ends `out` with symbol_cache_fini().
 */
bool symbol_cache_read(int fd, struct symbol_cache *out);

/* Write it from the start of `fd`; *bytes is its length. */
bool symbol_cache_write(int fd, const struct symbol_cache *cache, uint64_t *bytes);

#endif
