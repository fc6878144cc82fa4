// SPDX-License-Identifier: Apache-2.0
/*
 * Tokens identify clients that connect over the network. The token file has a line for each, ROLE
 * SHA256 [NAME], so that reading it reveals no token.
 */
#ifndef SERVE_TOKENS_H
#define SERVE_TOKENS_H

#include "base/err.h"
#include "wire/wire.h"

#include <stddef.h>

#define TOKENS_MAX 256
#define TOKEN_HASH_SIZE 32
#define TOKEN_TEXT_SIZE (2 * WIRE_TOKEN_SIZE + 1) /* hexadecimal */
#define TOKEN_NAME_SIZE 32

struct token {
	enum wire_role role;
	unsigned char hash[TOKEN_HASH_SIZE];
	char name[TOKEN_NAME_SIZE]; /* "" without one; letters, digits, '.', '_', '-' */
};

struct tokens {
	struct token v[TOKENS_MAX];
	size_t n;
};

/*
 * Read a token file. ERR_FAILED: it cannot be read, other users may write to it, or a line is
 * malformed; ERR_USAGE: it has no tokens.
 */
int tokens_read(const char *path, struct tokens *tokens, struct err *err) __must_check;

/* Compares in constant time. NULL: it is not known. */
const struct token *tokens_find(const struct tokens *tokens,
				const unsigned char token[WIRE_TOKEN_SIZE]);

/* "read", "profile", "control"; WIRE_ROLE_NONE for another word. */
enum wire_role token_role(const char *name);

/*
 * Make a token and append its hash to the file, which is created with mode 0600 if it is missing.
 * `text` is the token itself, which is not stored.
 */
int token_make(const char *path, enum wire_role role, const char *name, char text[TOKEN_TEXT_SIZE],
	       struct err *err) __must_check;

#endif
