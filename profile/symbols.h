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
	/*
	 * Which of the functions of that name it is: where its source declares it ("file:line"), or
	 * "image:0xaddress" of its symbol. NULL: there is no other one, or nothing tells.
	 */
	const char *identity;
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
	uint64_t into;	/* bytes from where unwind tables have its function begin; 0: not known */
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
 * "[image+0xoffset]" with the offset in the file, of its function where that is known,
 * "[0xaddress]" outside of all mappings. In place of what p->symbols holds. ERR_FAILED without
 * memory.
 */
int profile_symbols_none(struct profile *p, struct err *err) __must_check;

/*
 * Where functions of one name are known to be several, let their names say which is which:
 * "init (a.c)", "init (a.c:12)", "init (libb.so)". ERR_FAILED without memory.
 */
int profile_symbols_tell_apart(struct profile_symbols *symbols, struct err *err) __must_check;

/* Is it a linkage name that is made of more than a name? */
bool symbols_is_mangled(const char *linkage);

/* Which functions are the allocator's: what lies inside of their calls is nobody's business. */

/*
 * Is `name`, demangled or not, one of those that jeprof(1) drops from the inner
 * end of a stack, or the same behind a prefix that jemalloc is built with?
 */
bool symbols_is_allocator(const char *name);

/* Does jeprof(1) drop it? `name` is without arguments and template arguments. */
bool symbols_is_jeprof_allocator(const char *name);

/* Is it the file name of an image all of whose functions are the allocator's? */
bool symbols_is_allocator_image(const char *path);

/*
 * Private to profile/ and to who looks names up: makes a struct
 * profile_symbols, address by address, in any order.
 */

struct profile;
struct symbols_build;

/* No more calls than these were inlined at one address; what is beyond is left out. */
#define SYMBOLS_INLINED_MAX 256

/*
 * For `n_addresses` addresses, none of them named yet. NULL without memory. The
 * functions below remember when memory runs out, and symbols_build_finish() says so.
 */
struct symbols_build *symbols_build_new(size_t n_addresses);
void symbols_build_free(struct symbols_build *b);

/* For _cleanup_(). */
void symbols_build_close(struct symbols_build **b);

/*
 * The index of the function that is equal to `f`, added when it is a new one.
 * The names are copied; `linkage` NULL: not mangled. `allocator` is found out
 * here (profile/symbols.h), and may be set besides.
 */
uint32_t symbols_build_function(struct symbols_build *b, const struct profile_function *f);

/*
 * The calls at an address, the innermost inlined one first. A second call for
 * the same address, and n == 0, do nothing.
 */
void symbols_build_location(struct symbols_build *b, size_t address,
			    const struct profile_line *lines, size_t n);

/* Where the symbol starts that covers an address: `start` of its location. */
void symbols_build_start(struct symbols_build *b, size_t address, uint64_t start);

/* `into` of its location: without a name, it has that of where its function begins. */
void symbols_build_into(struct symbols_build *b, size_t address, uint64_t into);

/*
 * The calls of a location of `other`, and its start, for an address.
 * `functions`, one for each function of `other` and PROFILE_NONE at first, is
 * where it remembers their new indices. `image`: the file that they are all of, which may be the
 * allocator's; NULL: that is not known yet, or no more needed.
 */
void symbols_build_copy(struct symbols_build *b, size_t address,
			const struct profile_symbols *other, size_t location, uint32_t *functions,
			const char *image);

/* What was built so far, for the caller to free; NULL without memory. `b` is empty then. */
struct profile_symbols *symbols_build_take(struct symbols_build *b);

/*
 * Hand all over to p->symbols, in place of what is there; addresses that were
 * not named get made-up names. `b` is empty then. ERR_FAILED without memory.
 */
int symbols_build_finish(struct symbols_build *b, struct profile *p, struct err *err) __must_check;

#endif
