// SPDX-License-Identifier: Apache-2.0
/* Private to symbols/: shared by lookup.c and dwarf.c: the places to be named. */
#ifndef SYMBOLS_DWARF_H
#define SYMBOLS_DWARF_H

#include "base/hashmap.h"
#include "profile/symbols.h"
#include "symbols/lookup.h"

struct place {
	uint64_t address;
	uint64_t start;	     /* of the symbol */
	const char *linkage; /* of the symbol, interned; NULL: no symbol covers it */
	const char *file;    /* source file, interned; NULL: not recorded */
	enum symbols_rank rank;
	bool named; /* by DWARF */
};

struct symbols_lookup {
	struct place *places;
	size_t n;
	struct intern *text;
	struct symbols_build *build;
	struct hashmap names;	/* interned linkage name to index of `demangled` */
	const char **demangled; /* interned */
	size_t n_demangled, demangled_room;
	uint64_t work; /* remaining budget */
	bool split;    /* see symbols_lookup_is_split() */
};

/* Index of the first place at or after `address`; l->n if there is none. */
size_t symbols_lookup_find(const struct symbols_lookup *l, uint64_t address);

/*
 * Add a function and return its index. If `f.name` is NULL, it is derived from the linkage name.
 * `f.known` is set here.
 */
uint32_t symbols_lookup_function(struct symbols_lookup *l, struct profile_function f);

#endif
