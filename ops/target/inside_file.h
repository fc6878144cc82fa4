// SPDX-License-Identifier: Apache-2.0
/*
 * A profile in a file that the target wrote itself, and may change, replace or put a device or a
 * link in the place of at any time.
 */
#ifndef OPS_TARGET_INSIDE_FILE_H
#define OPS_TARGET_INSIDE_FILE_H

#include "io/received.h"
#include "ops/target/inside.h"
#include "ops/target/session.h"

/*
 * Append to it what the profile lacks: its mappings (mapped.h) and what it is of (facts.h). It is
 * looked at before it is opened: only a regular file with one name, of the
 * user that the target runs as. A child opens it that has that user's rights (setfsuid(2)) and no
 * capability, so that nothing is written to that the target could not write to by itself.
 *
 * ERR_OUTPUT: the file cannot be, or may not be, read (received_check()) or appended to, and is as
 * it was. ERR_FAILED: it is no whole profile; ERR_UNSAFE: there was no time.
 */
int inside_file_complete(const struct inside *in, const struct session *s,
			 const struct received_rules *rules, struct err *err) __must_check;

#endif
