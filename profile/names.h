// SPDX-License-Identifier: Apache-2.0
/*
 * The functions' names as text that can be shown anywhere: control characters
 * and what is no UTF-8 escaped (output_safe()), never empty, and bounded,
 * since a format may repeat a name in every stack.
 */
#ifndef PROFILE_NAMES_H
#define PROFILE_NAMES_H

#include "base/err.h"
#include "profile/symbols.h"

#include <stddef.h>
#include <stdint.h>

#define PROFILE_NAME_MAX 2048 /* bytes with the 0; C++ templates reach it */

struct profile_names {
	const char **name; /* one for each function */
	uint32_t *rank;	   /* of each function in the order of names; equal names, equal ranks */
	uint32_t *ranked;  /* of each rank, one function that stands for all of that name */
	size_t n;
	char *text; /* private */
};

/* ERR_FAILED: no memory. The caller ends it with profile_names_fini(). */
int profile_names_init(struct profile_names *out, const struct profile_symbols *symbols,
		       struct err *err) __must_check;
void profile_names_fini(struct profile_names *names);

#endif
