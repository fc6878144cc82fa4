// SPDX-License-Identifier: Apache-2.0
/*
 * The tree of a compile unit is walked once for all places that lie in it;
 * libdw's dwarf_getscopes() would walk it for each of them. What holds none
 * of them is stepped over.
 */
#include "symbols/dwarf.h"

#include "base/vec.h"

#include <dwarf.h>
#include <stdlib.h>

/* Inlining nests some dozens deep; a file that nests deeper than this lies. */
#define DEPTH_MAX 256

static bool spend(struct unit *u)
{
	if (!u->work)
		return false;
	u->work--;
	return true;
}

bool unit_each_place(struct unit *u, Dwarf_Die *die, uint32_t scope, unit_place_fn *fn)
{
	const struct symbols_lookup *l = u->lookup;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	bool any = false;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0 && spend(u)) {
		uint64_t size = end - start;
		size_t i = start < end ? symbols_lookup_find(l, start + u->bias) : l->n;

		for (; i < l->n && l->places[i].address - u->bias - start < size && spend(u); i++) {
			fn(u, i, scope);
			any = true;
		}
	}
	return any;
}

static void set_scope(struct unit *u, size_t place, uint32_t scope)
{
	u->innermost[place] = scope;
}

static void nothing(struct unit *u, size_t place, uint32_t scope)
{
	(void)u;
	(void)place;
	(void)scope;
}

/* Returns the scope that the children of `die` lie in, SCOPE_NONE when they matter to nobody. */
static uint32_t enter(struct unit *u, Dwarf_Die *die, uint32_t parent)
{
	uint32_t scope = (uint32_t)u->n_scopes;

	if (!vec_grow(u->scopes, u->scopes_room, u->n_scopes) || u->n_scopes >= SCOPE_NONE ||
	    !unit_each_place(u, die, scope, set_scope))
		return SCOPE_NONE;
	u->scopes[u->n_scopes++] = (struct scope){ *die, parent };
	return scope;
}

static void walk_children(struct unit *u, Dwarf_Die *die, uint32_t scope, unsigned int depth);

static void walk(struct unit *u, Dwarf_Die *die, uint32_t scope, unsigned int depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		if (scope == SCOPE_NONE)
			walk_children(u, die, SCOPE_NONE, depth);
		break;
	case DW_TAG_subprogram:
		scope = enter(u, die, SCOPE_NONE);
		if (scope != SCOPE_NONE)
			walk_children(u, die, scope, depth);
		break;
	case DW_TAG_inlined_subroutine:
		scope = enter(u, die, scope);
		if (scope != SCOPE_NONE)
			walk_children(u, die, scope, depth);
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		if (scope != SCOPE_NONE && unit_each_place(u, die, scope, nothing))
			walk_children(u, die, scope, depth);
		break;
	default:
		break;
	}
}

static void walk_children(struct unit *u, Dwarf_Die *die, uint32_t scope, unsigned int depth)
{
	Dwarf_Die child;
	Dwarf_Off before;

	if (depth == DEPTH_MAX || dwarf_child(die, &child))
		return;
	do {
		before = dwarf_dieoffset(&child);
		walk(u, &child, scope, depth + 1);
		/* A sibling that lies before would be looked at forever. */
	} while (spend(u) && dwarf_siblingof(&child, &child) == 0 &&
		 dwarf_dieoffset(&child) > before);
}

void unit_find_scopes(struct unit *u)
{
	u->n_scopes = 0;
	walk_children(u, &u->die, SCOPE_NONE, 0);
}
