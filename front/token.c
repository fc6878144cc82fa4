// SPDX-License-Identifier: Apache-2.0
#include "front/token.h"

#include <nettle/base16.h>
#include <nettle/base64.h>
#include <string.h>
#include <strings.h>

#define TOKEN_DIGITS BASE16_ENCODE_LENGTH((size_t)WIRE_TOKEN_SIZE)
#define USER_MAX 64
#define PAIR_MAX (USER_MAX + 1 + TOKEN_DIGITS)

static bool parse_digits(const char *text, unsigned char token[WIRE_TOKEN_SIZE])
{
	struct base16_decode_ctx base16;
	size_t len = WIRE_TOKEN_SIZE;

	base16_decode_init(&base16);
	return strlen(text) == TOKEN_DIGITS &&
	       base16_decode_update(&base16, &len, token, TOKEN_DIGITS, text) &&
	       base16_decode_final(&base16) && len == WIRE_TOKEN_SIZE;
}

/* The part after the scheme and spaces; NULL: another scheme. */
static const char *behind(const char *value, const char *scheme)
{
	size_t len = strlen(scheme);

	if (strncasecmp(value, scheme, len) != 0 || value[len] != ' ')
		return NULL;
	return value + len + strspn(value + len, " ");
}

static bool parse_pair(const char *text, unsigned char token[WIRE_TOKEN_SIZE])
{
	struct base64_decode_ctx base64;
	char pair[BASE64_DECODE_LENGTH(BASE64_ENCODE_RAW_LENGTH(PAIR_MAX)) + 1];
	size_t len = sizeof(pair) - 1;
	const char *colon;

	if (strlen(text) > BASE64_ENCODE_RAW_LENGTH(PAIR_MAX))
		return false;
	base64_decode_init(&base64);
	if (!base64_decode_update(&base64, &len, (uint8_t *)pair, strlen(text), text) ||
	    !base64_decode_final(&base64) || memchr(pair, '\0', len))
		return false;
	pair[len] = '\0';
	colon = strchr(pair, ':');
	return colon && parse_digits(colon + 1, token);
}

bool token_parse(const char *value, unsigned char token[WIRE_TOKEN_SIZE])
{
	const char *bearer = behind(value, "Bearer"), *basic = behind(value, "Basic");

	if (bearer)
		return parse_digits(bearer, token);
	return basic && parse_pair(basic, token);
}
