// SPDX-License-Identifier: Apache-2.0
/* Maps answers of the broker to HTTP. */
#ifndef FRONT_OUTCOME_H
#define FRONT_OUTCOME_H

#include "wire/wire.h"

#include <stdbool.h>

struct outcome {
	unsigned int status;
	bool again;	  /* worth retrying after a second */
	const char *text; /* if the answer has no content */
};

struct outcome outcome_of(const struct wire_to_front *answer);

/* `code` and `id` of an error in JSON for a status. */
const char *outcome_code(unsigned int status);
const char *outcome_id(unsigned int status);

/* Is it safe in a quoted header value, and as a file name? */
bool outcome_name_is_safe(const char name[WIRE_NAME_SIZE]);

#endif
