// SPDX-License-Identifier: Apache-2.0
/*
 * What a heap profile does not say of itself, and who reads it elsewhere or
 * later wants to know: lines after its mappings, which jeprof(1) passes over
 * (doc/heap-format.md).
 */
#ifndef OPS_FACTS_H
#define OPS_FACTS_H

#include "ops/session.h"

/*
 * Append them to the profile in the first `bytes` of `fd`. Where `fd` cannot be
 * written to it is closed and replaced by a memfd of our own. ERR_FAILED,
 * ERR_LOST.
 */
int facts_append(int *fd, uint64_t *bytes, const struct session *s, struct err *err) __must_check;

/*
 * Write them to the end of a file of the target's own; `fd` appends. ERR_OUTPUT,
 * with the file as it was, when it cannot be written; ERR_FAILED.
 */
int facts_write(int fd, const struct session *s, struct err *err) __must_check;

#endif
