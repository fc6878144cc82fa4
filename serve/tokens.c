// SPDX-License-Identifier: Apache-2.0
#include "serve/tokens.h"

#include "base/cleanup.h"
#include "io/config.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/base16.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_SIZE 256

static const struct config_kind kind = { ERROR_TOKENS_UNREADABLE, ERROR_TOKENS_NOT_OURS,
					 FIX_CHMOD_CONFIG };

enum wire_role token_role(const char *name)
{
	for (enum wire_role i = WIRE_ROLE_READ; i < WIRE_ROLES; i++) {
		if (!strcmp(name, wire_role_name(i)))
			return i;
	}
	return WIRE_ROLE_NONE;
}

static bool is_name(const char *name)
{
	return strlen(name) < TOKEN_NAME_SIZE &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789._-")] == '\0';
}

/* Splits `line` in place. True for empty lines and comments, too. */
static bool parse_line(char *line, struct tokens *tokens)
{
	struct token *t = &tokens->v[tokens->n];
	char *rest = line, *role = strtok_r(line, " \t\r\n", &rest);
	char *hash = strtok_r(NULL, " \t\r\n", &rest), *name = strtok_r(NULL, " \t\r\n", &rest);
	struct base16_decode_ctx base16;
	size_t len = TOKEN_HASH_SIZE;

	if (!role || *role == '#')
		return true;
	if (tokens->n == TOKENS_MAX || !hash || strtok_r(NULL, " \t\r\n", &rest))
		return false;
	*t = (struct token){ .role = token_role(role) };
	base16_decode_init(&base16);
	if (!t->role || strlen(hash) != BASE16_ENCODE_LENGTH(TOKEN_HASH_SIZE) ||
	    !base16_decode_update(&base16, &len, t->hash, strlen(hash), hash) ||
	    !base16_decode_final(&base16) || len != TOKEN_HASH_SIZE || !is_name(name ? name : ""))
		return false;
	snprintf(t->name, sizeof(t->name), "%s", name ? name : "");
	tokens->n++;
	return true;
}

int tokens_read(const char *path, struct tokens *tokens, struct err *err)
{
	_cleanup_(cleanup_fclose) FILE *f = config_fopen(path, &kind, err);
	char line[LINE_SIZE];

	if (!f)
		return -1;
	tokens->n = 0;
	for (int n = 1; fgets(line, sizeof(line), f); n++) {
		if ((!strchr(line, '\n') && !feof(f)) || !parse_line(line, tokens))
			return err_raise(err, ERROR_TOKEN_LINE, .path = path, .number = n);
	}
	if (ferror(f))
		return err_raise_sys(err, ERROR_TOKENS_UNREADABLE, EIO, .path = path);
	if (tokens->n)
		return 0;
	err_raise(err, ERROR_NO_TOKENS, .path = path);
	return err_advise(err, FIX_MAKE_TOKEN, .path = path);
}

static void hash_of(const unsigned char token[WIRE_TOKEN_SIZE], unsigned char hash[TOKEN_HASH_SIZE])
{
	struct sha256_ctx sha;

	sha256_init(&sha);
	sha256_update(&sha, WIRE_TOKEN_SIZE, token);
	sha256_digest(&sha, TOKEN_HASH_SIZE, hash);
}

const struct token *tokens_find(const struct tokens *tokens,
				const unsigned char token[WIRE_TOKEN_SIZE])
{
	const struct token *found = NULL;
	unsigned char hash[TOKEN_HASH_SIZE];

	hash_of(token, hash);
	for (size_t i = 0; i < tokens->n; i++) {
		if (memeql_sec(tokens->v[i].hash, hash, TOKEN_HASH_SIZE))
			found = &tokens->v[i];
	}
	return found;
}

static void to_hex(const unsigned char *bytes, size_t n, char *text)
{
	base16_encode_update(text, n, bytes);
	text[BASE16_ENCODE_LENGTH(n)] = '\0';
}

/* Could the file still be read with another token? */
static int check_room(const char *path, struct err *err)
{
	_cleanup_(cleanup_free) struct tokens *tokens = NULL;
	struct err why = ERR_INIT;
	size_t n = 0;

	if (access(path, F_OK))
		return 0;
	tokens = malloc(sizeof(*tokens));
	if (!tokens)
		return err_no_memory(err);
	if (!tokens_read(path, tokens, &why))
		n = tokens->n;
	if (why.ids[0] && why.ids[0] != ERROR_NO_TOKENS) {
		*err = why;
		return -1;
	}
	return n < TOKENS_MAX
		       ? 0
		       : err_raise(err, ERROR_TOO_MANY_TOKENS, .path = path, .limit = TOKENS_MAX);
}

int token_make(const char *path, enum wire_role role, const char *name, char text[TOKEN_TEXT_SIZE],
	       struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	unsigned char token[WIRE_TOKEN_SIZE], hash[TOKEN_HASH_SIZE];
	char hex[2 * TOKEN_HASH_SIZE + 1], line[LINE_SIZE], last;
	struct stat st;
	int len;

	if (!is_name(name ? name : ""))
		return err_raise(err, ERROR_TOKEN_NAME, .name = name);
	if (check_room(path, err))
		return -1;
	if (getrandom(token, sizeof(token), 0) != sizeof(token))
		return err_raise_sys(err, ERROR_NO_RANDOM, errno);
	hash_of(token, hash);
	to_hex(hash, sizeof(hash), hex);
	len = snprintf(line, sizeof(line), "%s %s%s%s\n", wire_role_name(role), hex,
		       name ? " " : "", name ? name : "");
	fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_raise_sys(err, ERROR_TOKENS_UNWRITTEN, errno, .path = path);
	if (config_check(fd, path, &kind, &st, err))
		return -1;
	/* The last line may lack its newline. */
	if (lseek(fd, -1, SEEK_END) >= 0 && read(fd, &last, 1) == 1 && last != '\n' &&
	    write(fd, "\n", 1) != 1)
		return err_raise_sys(err, ERROR_TOKENS_UNWRITTEN, errno, .path = path);
	if (write(fd, line, (size_t)len) != len || fsync(fd))
		return err_raise_sys(err, ERROR_TOKENS_UNWRITTEN, errno, .path = path);
	to_hex(token, sizeof(token), text);
	return 0;
}
