// SPDX-License-Identifier: Apache-2.0
/*
 * Metadata that a heap profile lacks, for readers elsewhere or later: lines after its mappings,
 * which jeprof(1) ignores (doc/heap-format.md).
 */
#ifndef OPS_TARGET_FACTS_H
#define OPS_TARGET_FACTS_H

#include "ops/target/session.h"

/* Append them to the file. ERR_OUTPUT, with the file unchanged; ERR_FAILED. */
int facts_append(int fd, const struct session *s, struct err *err) __must_check;

#endif
