// SPDX-License-Identifier: Apache-2.0
/*
 * Serializes values for messages between our own processes on one machine: numbers in native byte
 * order, text and arrays preceded by their length.
 *
 * Both sides record failures, so that a sequence of calls needs only one check at its end. The
 * reader validates everything: after a length beyond the end of the message, unterminated text, or
 * a number out of range, the message is bad, and every later value reads as 0 or "".
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
	bool failed; /* out of memory, or more than `max` bytes were packed */
};
#define PACK_MAX ((size_t)256 << 20)

void pack_bytes(struct pack *p, const void *bytes, size_t len);
void pack_u64(struct pack *p, uint64_t value);
/* NULL and "" are distinct. */
void pack_text(struct pack *p, const char *text);
void pack_fini(struct pack *p);

struct unpack {
	const unsigned char *at, *end; /* the remaining bytes; owned by the caller */
	bool bad;
};

/* Exactly `len` bytes; zeros in a bad message. */
void unpack_bytes(struct unpack *u, void *bytes, size_t len);
uint64_t unpack_u64(struct unpack *u);
/* A number of at most `max`. */
uint64_t unpack_max(struct unpack *u, uint64_t max);
bool unpack_bool(struct unpack *u);
/*
 * The number of elements that follow, each at least `least` bytes in the message, so that it is
 * safe to allocate an array of that size.
 */
size_t unpack_count(struct unpack *u, size_t least);
/* Text of less than `size` bytes into `buf`; NULL reads as "". */
void unpack_into(struct unpack *u, char *buf, size_t size);
/* Text that the caller frees; NULL if NULL was packed, and in a bad message. */
char *unpack_text(struct unpack *u, size_t max);
/* An error, or none (NULL). True when there was one; its strings are unescaped. */
void pack_err(struct pack *p, const struct err *err);
bool unpack_err(struct unpack *u, struct err *err);
/* Was everything read, without failure? */
bool unpack_done(const struct unpack *u);

#endif
