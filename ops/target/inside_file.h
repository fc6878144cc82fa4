// SPDX-License-Identifier: Apache-2.0
/*
 * A profile in a file that the target wrote itself, and may change or replace at any time, even
 * with a device or a link.
 */
#ifndef OPS_TARGET_INSIDE_FILE_H
#define OPS_TARGET_INSIDE_FILE_H

#include "io/received.h"
#include "ops/target/inside.h"
#include "ops/target/session.h"

/*
 * Append what the profile lacks: its mappings (mapped.h) and metadata (facts.h). The file is
 * checked before it is opened: it must be a regular file with one name, owned by the user that the
 * target runs as. A child opens it with that user's rights (setfsuid(2)) and no capability, so that
 * nothing is written that the target could not write itself.
 *
 * ERR_OUTPUT: the file cannot be, or may not be, read (received_check()) or appended to, and is
 * unchanged. ERR_FAILED: it is not a complete profile; ERR_UNSAFE: out of time.
 */
int inside_file_complete(const struct inside *in, const struct session *s,
			 const struct received_rules *rules, struct err *err) __must_check;

#endif
