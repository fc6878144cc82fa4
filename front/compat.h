// SPDX-License-Identifier: Apache-2.0
/* Requests in the words of services that had them first: what is theirs alone (enum wire_words). */
#ifndef FRONT_COMPAT_H
#define FRONT_COMPAT_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How long a run of Mesos takes: "90secs", "1.5hrs"; its units are ns, us, ms, secs, mins, hrs,
 * days and weeks, and one has to be there. From 1secs to 24hrs; else false, and `why` says why not,
 * in its words.
 */
bool compat_duration(const char *text, uint32_t *ms, char *why, size_t size);

/* The status of an error; `usual` is what it has in our own words. */
unsigned int compat_status(enum wire_words words, enum wire_op op,
			   const struct wire_to_front *answer, unsigned int usual);

/* The type of a document; `usual` likewise. */
const char *compat_type(enum wire_words words, enum wire_format format, const char *usual);

#endif
