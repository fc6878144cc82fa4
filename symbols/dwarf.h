// SPDX-License-Identifier: Apache-2.0
/* Private to symbols/: what lookup.c and dwarf.c share, the places that names are sought for. */
#ifndef SYMBOLS_DWARF_H
#define SYMBOLS_DWARF_H

#include "base/hashmap.h"
#include "profile/symbols.h"
#include "symbols/lookup.h"

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

/* The function: of its linkage name alone, if `f->name` is NULL. `f->known` is set here. */
uint32_t symbols_lookup_function(struct symbols_lookup *l, struct profile_function f);

#endif
