// SPDX-License-Identifier: Apache-2.0
/*
 * The names of a profile's addresses: functions, files, lines, and calls that a compiler inlined.
 * Only the data; looking them up is done elsewhere.
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
	const char *name;    /* for people: demangled; "[image+0xoffset]" if unknown */
	const char *linkage; /* as in the symbol table; the same pointer if not mangled */
	const char *file;    /* path of the source; NULL if unknown */
	/*
	 * For a local symbol without debug data: its file by the symbol table; "": none. Only a
	 * hint, as linkers may append other symbols: only -f jeprof shows it.
	 */
	const char *table_file;
	/*
	 * Distinguishes functions of one name: the source file of its declaration and the line, or
	 * the image of its symbol ("": not known yet) and the address. NULL: the name is unique, or
	 * nothing is known.
	 */
	const char *origin;
	uint64_t origin_at;
	bool from_image; /* the origin is its symbol */
	bool known;	 /* false: `name` is made up from the address */
	bool bare;	 /* its DWARF name has no scope: see profile/regroup.c */
	bool allocator;	 /* malloc and the like: hidden if innermost */
};

/* One call at an address, by its function. */
struct profile_line {
	uint32_t function; /* index of `functions` */
	uint32_t line;	   /* of the source; 0 if unknown */
};

/* Of one address: lines[first .. first + n), innermost inlined call first; n >= 1. */
struct profile_location {
	uint32_t first, n;
	uint64_t start; /* st_value of the ELF symbol that covers it; 0: none */
	uint64_t into; /* bytes from the start of its function by the unwind tables; 0: not known */
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

/* Frees the symbols; NULL is ignored. */
void profile_symbols_free(struct profile_symbols *symbols);

/*
 * Give every address the made-up name of an address without symbols: "[image+0xoffset]" with the
 * file offset (of its function, if known), or "[0xaddress]" outside of all mappings. Replaces
 * p->symbols. ERR_FAILED without memory.
 */
int profile_symbols_none(struct profile *p, struct err *err) __must_check;

/*
 * If several functions are known to share a name, make their names distinct: "init (a.c)",
 * "init (a.c:12)", "init (libb.so)". ERR_FAILED without memory.
 */
int profile_symbols_tell_apart(struct profile_symbols *symbols, struct err *err) __must_check;

/* Is it a mangled linkage name? */
bool symbols_is_mangled(const char *linkage);

/* Which functions are the allocator's, whose inner calls are not shown. */

/*
 * Is `name`, demangled or not, one that jeprof(1) drops from the inner end of a stack, maybe with a
 * prefix that jemalloc is built with?
 */
bool symbols_is_allocator(const char *name);

/* Does jeprof(1) drop it? `name` is without arguments and template arguments. */
bool symbols_is_jeprof_allocator(const char *name);

/* Is it the file name of an image that contains only the allocator? */
bool symbols_is_allocator_image(const char *path);

/*
 * Private to profile/ and to code that looks names up: builds a struct profile_symbols, address by
 * address, in any order.
 */

struct profile;
struct symbols_build;

/* The maximum number of calls inlined at one address; more are left out. */
#define SYMBOLS_INLINED_MAX 256

/*
 * For `n_addresses` addresses, none of them named yet. NULL without memory. If memory runs out in
 * the functions below, symbols_build_finish() reports it.
 */
struct symbols_build *symbols_build_new(size_t n_addresses);
void symbols_build_free(struct symbols_build *b);

/* For _cleanup_(). */
void symbols_build_close(struct symbols_build **b);

/*
 * The index of the function equal to `f`, added if it is new. Names are copied; `linkage` NULL: not
 * mangled. `allocator` is determined here, and may also be set by the caller.
 */
uint32_t symbols_build_function(struct symbols_build *b, const struct profile_function *f);

/*
 * Set the calls at an address, innermost inlined one first. A second call for the same address, or
 * n == 0, does nothing.
 */
void symbols_build_location(struct symbols_build *b, size_t address,
			    const struct profile_line *lines, size_t n);

/* Set the start of the symbol that covers an address: `start` of its location. */
void symbols_build_start(struct symbols_build *b, size_t address, uint64_t start);

/* Set `into` of its location, from which an address without a name gets one. */
void symbols_build_into(struct symbols_build *b, size_t address, uint64_t into);

/*
 * Copy the calls and the start of a location of `other` for an address. `functions`, one for each
 * function of `other` and initially PROFILE_NONE, keeps their new indices. `image`: the file of
 * all of them, which may be the allocator's; NULL: not known yet, or no longer needed.
 */
void symbols_build_copy(struct symbols_build *b, size_t address,
			const struct profile_symbols *other, size_t location, uint32_t *functions,
			const char *image);

/* Take what was built so far, which the caller frees; NULL without memory. Empties `b`. */
struct profile_symbols *symbols_build_take(struct symbols_build *b);

/*
 * Move everything to p->symbols, replacing what is there; addresses without names get made-up ones.
 * Empties `b`. ERR_FAILED without memory.
 */
int symbols_build_finish(struct symbols_build *b, struct profile *p, struct err *err) __must_check;

#endif
