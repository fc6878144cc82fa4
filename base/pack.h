// SPDX-License-Identifier: Apache-2.0
/*
 * Values in a row of bytes, for messages between our own processes on one
 * machine: numbers in the machine's own order, text and arrays with their length
 * in front.
 *
 * Both sides carry their failure along, so that a row of calls needs one check
 * at its end. A reader takes nothing on trust: a length beyond the end of the
 * message, text without a terminator, or a number out of range makes it bad, and
 * every later value then reads as 0 or "".
 */
#ifndef BASE_PACK_H
#define BASE_PACK_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pack {
	unsigned char *v; /* malloc()ed; pack_fini() frees it */
	size_t len, room;
	size_t max;  /* bytes; 0: PACK_MAX */
	bool failed; /* there was no memory, or more than `max` bytes were packed */
};
#define PACK_MAX ((size_t)256 << 20)

void pack_bytes(struct pack *p, const void *bytes, size_t len);
void pack_u64(struct pack *p, uint64_t value);
/* NULL and "" are told apart. */
void pack_text(struct pack *p, const char *text);
void pack_fini(struct pack *p);

struct unpack {
	const unsigned char *at, *end; /* what is left; owned by the caller */
	bool bad;
};

/* All of `len` bytes; zeros in a bad message. */
void unpack_bytes(struct unpack *u, void *bytes, size_t len);
uint64_t unpack_u64(struct unpack *u);
/* A number that must be at most `max`. */
uint64_t unpack_max(struct unpack *u, uint64_t max);
bool unpack_bool(struct unpack *u);
/*
 * The number of elements that follow, each of which takes at least `least`
 * bytes of the message: an array may be allocated for that many.
 */
size_t unpack_count(struct unpack *u, size_t least);
/* Text of less than `size` bytes into `buf`; NULL reads as "". */
void unpack_into(struct unpack *u, char *buf, size_t size);
/* In memory that the caller frees; NULL where NULL was packed, and in a bad message. */
char *unpack_text(struct unpack *u, size_t max);
/* An error, or none (NULL). True when there was one; its texts are as raw as they were. */
void pack_err(struct pack *p, const struct err *err);
bool unpack_err(struct unpack *u, struct err *err);
/* Was all of it read, and was it good? */
bool unpack_done(const struct unpack *u);

#endif
