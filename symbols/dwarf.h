// SPDX-License-Identifier: Apache-2.0
/* Private to symbols_dwarf.c and symbols_scopes.c: one compile unit on its way through both. */
#ifndef SYMBOLS_DWARF_H
#define SYMBOLS_DWARF_H

#include "symbols/private.h"

#include <elfutils/libdw.h>

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
