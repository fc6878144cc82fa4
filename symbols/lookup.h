// SPDX-License-Identifier: Apache-2.0
/*
 * Names for addresses of one image: from the symbols of its ELF tables, which
 * are handed in one by one, and from the DWARF of files that others opened.
 * Only what the addresses need is read. The files may lie: what is read from
 * them is bounded.
 */
#ifndef SYMBOLS_LOOKUP_H
#define SYMBOLS_LOOKUP_H

#include "profile/symbols.h"

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names of C++ and Rust as they stand in the source, as `c++filt` prints them. */

/*
 * The name behind `linkage` in `buf`. False when it is not mangled, or when
 * the name is not to be had: it may come from a hostile file, and a short one
 * can stand for one without end.
 */
#define SYMBOLS_NAME_MAX 16384
bool symbols_demangle(const char *linkage, char buf[SYMBOLS_NAME_MAX]);

struct symbols_lookup;

/*
 * For `n` places in the code, ascending and distinct; they are copied. NULL
 * without memory. A place lies in the calling instruction: one before the
 * return address.
 */
struct symbols_lookup *symbols_lookup_new(const uint64_t *places, size_t n);
void symbols_lookup_free(struct symbols_lookup *l);

/* For _cleanup_(). */
void symbols_lookup_close(struct symbols_lookup **l);

/*
 * A function of a symbol table. Where several cover a place, the one that
 * starts last counts, and of those that start together the higher `rank`. One
 * without a size covers nothing: the nearest name is no answer. `file`: see struct
 * profile_function's table_file; it is copied.
 */
enum symbols_rank {
	SYMBOLS_RANK_OTHER, /* of no type, or indirect */
	SYMBOLS_RANK_WEAK,
	SYMBOLS_RANK_PLAIN,
};
void symbols_lookup_symbol(struct symbols_lookup *l, const char *name, uint64_t start,
			   uint64_t size, enum symbols_rank rank, const char *file);

/*
 * Files, lines and inlined calls from the debug data of `elf`, whose addresses
 * become places with `bias` added. `common`: where it has parts in common with
 * other files, the file of those (dwz), else NULL. To be called after the symbols are handed
 * in. False when there is no debug data in it that can be used.
 */
bool symbols_lookup_dwarf(struct symbols_lookup *l, Elf *elf, Elf *common, uint64_t bias);

/* Is there debug data in `elf` that symbols_lookup_dwarf() may read, with or without `common`? */
bool symbols_has_dwarf(Elf *elf);

/* Does anything tell what the i-th place is called? */
bool symbols_lookup_knows(const struct symbols_lookup *l, size_t i);

/* Where the function begins that the i-th place lies in, which has no name. */
void symbols_lookup_begin(struct symbols_lookup *l, size_t i, uint64_t start);

/*
 * Has debug data that was read been split (-gsplit-dwarf)? Then the calls that
 * were inlined at some of the places stand in files of their own (.dwo), which
 * are not read: those places have their lines, and the function around.
 */
bool symbols_lookup_is_split(const struct symbols_lookup *l);

/*
 * What was found: locations[i] is that of places[i], with n == 0 where nothing
 * was, and `start` without `bias`. The caller frees it. NULL without memory.
 */
struct profile_symbols *symbols_lookup_take(struct symbols_lookup *l, uint64_t bias);

#endif
