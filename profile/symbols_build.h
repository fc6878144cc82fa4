// SPDX-License-Identifier: Apache-2.0
/*
 * Private to profile/ and to who looks names up: makes a struct
 * profile_symbols, address by address, in any order.
 */
#ifndef PROFILE_SYMBOLS_BUILD_H
#define PROFILE_SYMBOLS_BUILD_H

#include "base/err.h"
#include "profile/symbols.h"

#include <stddef.h>
#include <stdint.h>

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
 * here (profile/symbols_allocator.h), and may be set besides.
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

/*
 * The calls of a location of `other`, and its start, for an address.
 * `functions`, one for each function of `other` and PROFILE_NONE at first, is
 * where it remembers their new indices; `allocator`: they are the allocator's all.
 */
void symbols_build_copy(struct symbols_build *b, size_t address,
			const struct profile_symbols *other, size_t location, uint32_t *functions,
			bool allocator);

/* What was built so far, for the caller to free; NULL without memory. `b` is empty then. */
struct profile_symbols *symbols_build_take(struct symbols_build *b);

/*
 * Hand all over to p->symbols, in place of what is there; addresses that were
 * not named get made-up names. `b` is empty then. ERR_FAILED without memory.
 */
int symbols_build_finish(struct symbols_build *b, struct profile *p, struct err *err) __must_check;

#endif
