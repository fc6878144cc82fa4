// SPDX-License-Identifier: Apache-2.0
/* Private to ops/record/journal.c: the state of a journal as text, "KEY VALUE" in each line. */
#ifndef OPS_RECORD_JOURNAL_TEXT_H
#define OPS_RECORD_JOURNAL_TEXT_H

#include "ops/record/journal.h"

#include <stdbool.h>
#include <stddef.h>

#define JOURNAL_TEXT_MAX 4096 /* the NUL included */

/* False for a text that is not whole, or lacks what says which process it is of. */
bool journal_text_parse(const char *text, struct journal_state *state);

/* The length of the text, which always fits into JOURNAL_TEXT_MAX bytes. */
int journal_text_format(const struct journal_state *state, char *buf, size_t size);

#endif
