// SPDX-License-Identifier: Apache-2.0
/* What an answer of the broker is in HTTP. */
#ifndef FRONT_OUTCOME_H
#define FRONT_OUTCOME_H

#include "wire/wire.h"

#include <stdbool.h>

struct outcome {
	unsigned int status;
	bool again;	  /* it may well work in a second */
	const char *text; /* where the answer brings none */
};

struct outcome outcome_of(const struct wire_to_front *answer);

/* A word and an id for a status that is an error, as `code` and `id` of an error in JSON. */
const char *outcome_code(unsigned int status);
const char *outcome_id(unsigned int status);

/* May it stand between quotes in a header? Then it is safe as the name of a file, too. */
bool outcome_name_is_safe(const char name[WIRE_NAME_SIZE]);

#endif
