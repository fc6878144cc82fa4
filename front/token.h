// SPDX-License-Identifier: Apache-2.0
/* Which token a request shows. */
#ifndef FRONT_TOKEN_H
#define FRONT_TOKEN_H

#include "wire/wire.h"

#include <stdbool.h>

/*
 * From the value of Authorization: "Bearer TOKEN" (RFC 6750), or as the password of "Basic ..."
 * (RFC 7617), whoever the user is, for programs that can only be given a URL with both. A token is
 * 64 hexadecimal digits. False: it shows none.
 */
bool token_parse(const char *value, unsigned char token[WIRE_TOKEN_SIZE]);

#endif
