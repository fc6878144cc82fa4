// SPDX-License-Identifier: Apache-2.0
/*
 * Who a client that comes over the network is: whoever knows a token. The file of tokens has a line
 * for each, ROLE SHA256 [NAME]: whoever reads it knows no token.
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
 * Read a file of tokens. ERR_FAILED: it cannot be read, others may write to it, or a line of it is
 * wrong; ERR_USAGE: it has none.
 */
int tokens_read(const char *path, struct tokens *tokens, struct err *err) __must_check;

/* Whose it is, in a time that says nothing of how near it comes to one; NULL: nobody's. */
const struct token *tokens_find(const struct tokens *tokens,
				const unsigned char token[WIRE_TOKEN_SIZE]);

/* "read", "profile", "control"; WIRE_ROLE_NONE for another word. */
enum wire_role token_role(const char *name);

/*
 * Make one, and add it to the file, which is made with mode 0600 if it is not there. `text` is the
 * token itself, which is kept nowhere.
 */
int token_make(const char *path, enum wire_role role, const char *name, char text[TOKEN_TEXT_SIZE],
	       struct err *err) __must_check;

#endif
