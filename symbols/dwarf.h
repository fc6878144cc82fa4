// SPDX-License-Identifier: Apache-2.0
/* Private to symbols/: what lookup.c and dwarf.c share, the places that names are sought for. */
#ifndef SYMBOLS_DWARF_H
#define SYMBOLS_DWARF_H

#include "base/hashmap.h"
#include "profile/symbols.h"
#include "symbols/lookup.h"

#include <elfutils/libdw.h>

struct place {
	uint64_t address;
	uint64_t start;	     /* of the symbol */
	const char *linkage; /* of the symbol, kept; NULL: none covers it */
	const char *file;    /* kept as well; NULL: it says none */
	enum symbols_rank rank;
	bool named; /* by DWARF */
};

struct symbols_lookup {
	struct place *places;
	size_t n;
	struct intern *text;
	struct symbols_build *build;
	struct hashmap names;	/* of kept linkage names: index of `demangled` */
	const char **demangled; /* kept as well */
	size_t n_demangled, demangled_room;
	uint64_t work; /* what is left of it */
	bool split;    /* see symbols_lookup_is_split() */
};

/* The first place at or after `address`; l->n if there is none. */
size_t symbols_lookup_find(const struct symbols_lookup *l, uint64_t address);

/*
 * The function of that linkage name, one line of which lies in `file` (NULL: unknown);
 * `bare`: see struct profile_function.
 */
uint32_t symbols_lookup_function(struct symbols_lookup *l, const char *linkage, const char *file,
				 bool bare);

/* A function, or a call that was inlined into one, which covers some place. */
struct scope {
	Dwarf_Die die;
	uint32_t parent; /* index of the one it was inlined into; SCOPE_NONE: a function */
};
#define SCOPE_NONE UINT32_MAX

struct unit {
	struct symbols_lookup *lookup;
	uint64_t bias;
	Dwarf_Die die;
	const char *folder; /* that the compiler ran in, NULL if unknown */
	bool mangles;	    /* its language makes linkage names of names */
	uint64_t work;	    /* what is left of it: DIEs and ranges to look at */
	uint32_t *mine;	    /* indices of the places that lie in it */
	size_t n_mine, mine_room;
	uint32_t *innermost; /* of each place of the lookup: its scope. SCOPE_NONE: none yet */
	struct scope *scopes;
	size_t n_scopes, scopes_room;
};

/* Called for each place that lies in the ranges of a DIE. */
typedef void unit_place_fn(struct unit *u, size_t place, uint32_t scope);

/* True when any does. */
bool unit_each_place(struct unit *u, Dwarf_Die *die, uint32_t scope, unit_place_fn *fn);

/* Find the scopes of the places `mine`. */
void unit_find_scopes(struct unit *u);

#endif
