// SPDX-License-Identifier: Apache-2.0
/*
 * Names for addresses of one image: from the symbols of its ELF tables, passed in one by one, and
 * from the DWARF of files opened by the caller. Only what the addresses need is read. The files are
 * untrusted: what is read from them is bounded.
 */
#ifndef SYMBOLS_LOOKUP_H
#define SYMBOLS_LOOKUP_H

#include "profile/symbols.h"

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Demangles names of C++ and Rust like `c++filt`. */

/*
 * Demangle `linkage` into `buf`. False when it is not mangled, or cannot be demangled: it may come
 * from a hostile file, and a short mangled name may expand without limit.
 */
#define SYMBOLS_NAME_MAX 16384
bool symbols_demangle(const char *linkage, char buf[SYMBOLS_NAME_MAX]);

struct symbols_lookup;

/*
 * A lookup for `n` places in the code, ascending and distinct, which are copied. NULL if out of
 * memory. A place is in the calling instruction: the return address minus one.
 */
struct symbols_lookup *symbols_lookup_new(const uint64_t *places, size_t n);
void symbols_lookup_free(struct symbols_lookup *l);

/* For _cleanup_(). */
void symbols_lookup_close(struct symbols_lookup **l);

/*
 * Add a function of a symbol table. If several cover a place, the one that starts last wins, and
 * among those with the same start the higher `rank`. A symbol without a size covers nothing: the
 * nearest name is not good enough. `file`: see table_file of struct profile_function; it is copied.
 */
enum symbols_rank {
	SYMBOLS_RANK_OTHER, /* without a type, or indirect */
	SYMBOLS_RANK_WEAK,
	SYMBOLS_RANK_PLAIN,
};
void symbols_lookup_symbol(struct symbols_lookup *l, const char *name, uint64_t start,
			   uint64_t size, enum symbols_rank rank, const char *file);

/*
 * Look up files, lines and inlined calls in the debug data of `elf`, whose addresses become places
 * by adding `bias`. `common`: the file with its shared debug data (dwz), or NULL. Call it after all
 * symbols were added. False when it has no usable debug data.
 */
bool symbols_lookup_dwarf(struct symbols_lookup *l, Elf *elf, Elf *common, uint64_t bias);

/* Does `elf` have debug data that symbols_lookup_dwarf() may read, with or without `common`? */
bool symbols_has_dwarf(Elf *elf);

/* Is there a name for the i-th place? */
bool symbols_lookup_knows(const struct symbols_lookup *l, size_t i);

/* Set the start of the nameless function that contains the i-th place. */
void symbols_lookup_begin(struct symbols_lookup *l, size_t i, uint64_t start);

/*
 * Was some of the debug data split (-gsplit-dwarf)? Then the inlined calls at some places are in
 * separate files (.dwo), which are not read: those places have their lines and the enclosing
 * function.
 */
bool symbols_lookup_is_split(const struct symbols_lookup *l);

/*
 * The result: locations[i] belongs to places[i], with n == 0 if nothing was found, and `start`
 * without `bias`. The caller frees it. NULL if out of memory.
 */
struct profile_symbols *symbols_lookup_take(struct symbols_lookup *l, uint64_t bias);

#endif
