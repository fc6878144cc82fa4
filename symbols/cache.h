// SPDX-License-Identifier: Apache-2.0
/*
 * A cache on disk of names read from debug data, by build ID: reading them again takes long, and
 * their file may be gone by then. In /var/cache/jeprof-ctl for root, else in jeprof-ctl below
 * XDG_CACHE_HOME or ~/.cache; readable only by the user, and of limited size. The cache is
 * optional: its failures are not reported.
 */
#ifndef SYMBOLS_CACHE_H
#define SYMBOLS_CACHE_H

#include "profile/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The names of places in one image. */
struct symbol_cache {
	uint64_t *offsets; /* file offsets in the image, ascending */
	size_t n;
	struct profile_symbols *symbols; /* locations[i] belongs to offsets[i] */
};

#define SYMBOL_CACHE_BYTES_MAX (UINT64_C(256) << 20) /* total of all files */

/* Open the cached file for an image; -1: there is none, or it is not ours. */
int symbol_cache_open(const unsigned char *build_id, size_t len);
void symbol_cache_fini(struct symbol_cache *cache);

/* Store the first `bytes` of `fd`, replacing an existing file. */
void symbol_cache_store(const unsigned char *build_id, size_t len, int fd, uint64_t bytes);

/* The contents of a file in the cache. */

#define SYMBOL_CACHE_FILE_MAX (64u << 20)

/*
 * False when it is not such a file, or corrupt: all contents are validated, even if we wrote them.
 * The caller releases `out` by symbol_cache_fini().
 */
bool symbol_cache_read(int fd, struct symbol_cache *out);

/* Write it at the start of `fd`; *bytes receives its length. */
bool symbol_cache_write(int fd, const struct symbol_cache *cache, uint64_t *bytes);

#endif
