// SPDX-License-Identifier: Apache-2.0
/*
 * The names of a profile's addresses: functions, files, lines, and the calls
 * that a compiler inlined. As data: who looked them up, and where, is not this
 * header's matter.
 */
#ifndef PROFILE_SYMBOLS_H
#define PROFILE_SYMBOLS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intern;
struct profile;

struct profile_function {
	const char *name;    /* for people: demangled, or "[image+0xoffset]" when unknown */
	const char *linkage; /* as the symbol table has it; the same pointer when not mangled */
	const char *file;    /* path of the source; NULL when unknown */
	/*
	 * Of a local symbol that debug data says nothing of: the file that the symbol table says it
	 * is of, "" for none. A hint, as linkers put others behind it: only -f jeprof shows it.
	 */
	const char *table_file;
	bool known;	/* false: `name` is made up from the address */
	bool bare;	/* DWARF has its name without what it lies in: see profile/regroup.c */
	bool allocator; /* malloc and its like: not shown at the inner end of a stack */
};

/* One call at an address: the function it is in. */
struct profile_line {
	uint32_t function; /* index of `functions` */
	uint32_t line;	   /* of the source; 0 when unknown */
};

/* Of one address: lines[first .. first + n), the innermost inlined call first; n >= 1. */
struct profile_location {
	uint32_t first, n;
	uint64_t start; /* st_value of the ELF symbol that covers it; 0 when none does */
};

struct profile_symbols {
	struct profile_function *functions;
	size_t n_functions;
	struct profile_line *lines;
	size_t n_lines;
	struct profile_location *locations; /* one for each of profile.addresses */
	size_t n_locations;
	struct intern *text; /* private: the bytes of all names */
};

/* Frees it; NULL is nothing. */
void profile_symbols_free(struct profile_symbols *symbols);

/*
 * Give every address a made-up name, as one gets that is found nowhere:
 * "[image+0xoffset]" with the offset in the file, "[0xaddress]" outside of all
 * mappings. In place of what p->symbols holds. ERR_FAILED without memory.
 */
int profile_symbols_none(struct profile *p, struct err *err) __must_check;

#endif
