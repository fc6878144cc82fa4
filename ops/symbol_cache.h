// SPDX-License-Identifier: Apache-2.0
/*
 * Names that were read from debug data, kept on disk by build id: reading them
 * again takes long, and the file they came from may be gone by then. In
 * /var/cache/jeprof-ctl for root, else in jeprof-ctl below XDG_CACHE_HOME or
 * ~/.cache; only for the user's own eyes, and of a bounded size. The cache
 * helps or does nothing: none of its failures is one of the caller.
 */
#ifndef OPS_SYMBOL_CACHE_H
#define OPS_SYMBOL_CACHE_H

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

/* What is kept for an image. False when nothing is, or it is no file of ours, or a broken one. */
bool symbol_cache_load(const unsigned char *build_id, size_t len, struct symbol_cache *out);
void symbol_cache_fini(struct symbol_cache *cache);

/* Keep it, in place of what was kept. */
void symbol_cache_save(const unsigned char *build_id, size_t len, const struct symbol_cache *cache);

#endif
