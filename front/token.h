// SPDX-License-Identifier: Apache-2.0
/* Parses the token of a request. */
#ifndef FRONT_TOKEN_H
#define FRONT_TOKEN_H

#include "wire/wire.h"

#include <stdbool.h>

/*
 * The token in the value of an Authorization header: "Bearer TOKEN" (RFC 6750), or the password of
 * "Basic ..." (RFC 7617) with any user name, for programs that take only a URL. It has 64
 * hexadecimal digits. False: malformed.
 */
bool token_parse(const char *value, unsigned char token[WIRE_TOKEN_SIZE]);

#endif
