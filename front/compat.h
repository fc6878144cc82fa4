// SPDX-License-Identifier: Apache-2.0
/* What is particular to requests of other services (enum wire_words). */
#ifndef FRONT_COMPAT_H
#define FRONT_COMPAT_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Parse the duration of a run in Mesos' syntax, "90secs" or "1.5hrs": a unit (ns, us, ms, secs,
 * mins, hrs, days, weeks) is required. Must be 1secs to 24hrs; otherwise false, with Mesos' error
 * message in `why`.
 */
bool compat_duration(const char *text, uint32_t *ms, char *why, size_t size);

/* The status of an error; `usual` is that of our own API. */
unsigned int compat_status(enum wire_words words, enum wire_op op,
			   const struct wire_to_front *answer, unsigned int usual);

/* The media type of a document; `usual` likewise. */
const char *compat_type(enum wire_words words, enum wire_format format, const char *usual);

#endif
